"""Closing one side of a connection."""

import socket
from typing import Any


def half_close(sock: Any) -> bool:
    """Close the sending side, unless the layers or a loss forbid it; return whether it was closed.

    TLS would lose what is still to be read.
    """
    if hasattr(sock, "unwrap"):
        return False
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        return False  # the connection is lost, which the next read reports
    return True
