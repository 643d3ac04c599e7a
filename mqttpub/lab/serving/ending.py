"""The ends of connections: said to the peer, and put into words."""

import socket
from contextlib import suppress
from typing import Any


def end_writing(sock: Any) -> None:
    """Tell the peer that nothing more is sent, in the way of the outermost layer; raises OSError."""
    if hasattr(sock, "unwrap"):
        # It sends the end of TLS, and would wait for that of the peer, which is read later.
        with suppress(OSError):
            sock.unwrap()
        socket.socket.shutdown(sock, socket.SHUT_WR)
    else:
        sock.shutdown(socket.SHUT_WR)


def broke(error: OSError) -> str:
    """Return why a connection is over, as a sentence."""
    # OpenSSL names its reason in capitals, behind which its own text holds a place in its source.
    reason = getattr(error, "reason", None)
    if reason:
        return f"the connection broke: TLS, {str(reason).replace('_', ' ').lower()}"
    return f"the connection broke: {error.strerror or error}"
