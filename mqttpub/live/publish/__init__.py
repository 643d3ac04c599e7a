"""Publishing: messages, their handshakes, and what is kept of them."""
