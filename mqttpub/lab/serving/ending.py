"""The ends of connections: said to the peer, and put into words."""

import socket
import struct
from contextlib import suppress
from typing import Any

BROKE = "the connection broke: "
"""The beginning of a sentence on the end of a connection because of an error."""
_AT_ONCE = struct.pack("ii", 1, 0)
"""The option of a socket that discards what is unsent, so that its close is a reset."""


def below(sock: Any) -> Any:
    """Return the socket of the system, or of TLS, below others; a socket without one is its own."""
    while lower := getattr(sock, "line", None) or getattr(sock, "sock", None):
        sock = lower
    return sock


def is_broken(sock: Any) -> bool:
    """Whether an end that was read is a reset, which Python's TLS does not tell apart."""
    try:
        below(sock).getpeername()
    except OSError:
        return True
    return False


def resets(sock: Any) -> None:
    """Make the close of a socket one that the peer sees as RST, where the transport has such an end."""
    lowest = below(sock)
    with suppress(OSError):
        if lowest.family in (socket.AF_INET, socket.AF_INET6):
            lowest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)


def end_writing(sock: Any) -> None:
    """Tell the peer that nothing more is sent, in the way of the outermost layer; raises OSError."""
    if hasattr(sock, "unwrap"):
        # It sends the end of TLS, and would wait for that of the peer, which is read later.
        with suppress(OSError):
            sock.unwrap()
        socket.socket.shutdown(below(sock), socket.SHUT_WR)
    else:
        sock.shutdown(socket.SHUT_WR)


def broke(error: OSError) -> str:
    """Return why a connection is over, as a sentence."""
    # OpenSSL names its reason in capitals, behind which its own text holds a place in its source.
    reason = getattr(error, "reason", None)
    if reason:
        return f"{BROKE}TLS, {str(reason).replace('_', ' ').lower()}"
    return f"{BROKE}{error.strerror or error}"
