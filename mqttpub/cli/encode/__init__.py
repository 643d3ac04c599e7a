"""What `encode` does with its request. Must not import paho."""
