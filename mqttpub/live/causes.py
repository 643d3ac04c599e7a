"""Why there is no connection, in words."""

import errno
import socket

from .connection import Target
from .tap import Tap

FOREIGN = {b"\x15\x03": "speaks TLS", b"HTTP/": "speaks HTTP"}
"""First bytes of protocols that are not the one we speak."""


def speaks(data: bytes | bytearray) -> str | None:
    """Return what protocol the first bytes of a peer belong to, if it is none of ours."""
    return next((saying for start, saying in FOREIGN.items() if data.startswith(start)), None)


def no_mqtt(tap: Tap, target: Target, timeout: float) -> str | None:
    """Return why no CONNACK can come on a connection, where it is below MQTT."""
    if said := speaks(tap.first):
        return f"{target.place} {said}"
    if not target.transport.tls or tap.failed is None:
        return None
    from .tls import late_cause

    return late_cause(tap.failed, target, timeout)


def why(error: Exception, target: Target, timeout: float) -> str:
    """Return what went wrong before there was a connection, as one sentence."""
    transport, place = target.transport, target.place
    if transport.proxy:
        from .proxy import cause

        if isinstance(error, OSError) and (said := cause(error, transport.proxy, place, timeout)):
            return said
    if transport.bind and getattr(error, "errno", None) in UNBINDABLE:
        return f"cannot connect to {place} from {transport.bind}: {_words(error)}"
    if isinstance(error, (socket.gaierror, ValueError)):
        return f"host '{target.host}' is not known"
    if isinstance(error, TimeoutError):
        return f"no answer from {place} within {timeout:g} s"
    return f"cannot connect to {place}: {_words(error)}"


UNBINDABLE = {errno.EADDRNOTAVAIL, errno.EACCES, getattr(socket, "EAI_ADDRFAMILY", None), socket.EAI_NONAME} - {None}
"""Errors that an address of ours can cause as well as theirs."""


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
