"""Why there is no connection, in words."""

import errno
import socket

from ...spec.declare import PACKETS
from ...spec.packets import Auth, Connack
from ..tap import Tap
from .target import Target

TLS_ALERT = b"\x15\x03"
FOREIGN = {TLS_ALERT: "speaks TLS", b"HTTP/": "speaks HTTP", b"SSH-": "speaks SSH"}
"""First bytes of protocols that are not the one we speak."""
LINE_ENDS = "\r\n\t"
FEWEST = 4
"""Bytes that show whether a peer speaks MQTT: in a CONNACK the third is 0 or 1, in a PUBLISH it begins a length."""
MAY_BE_FIRST = (Connack.code, Auth.code)
"""Types of the packets that a server may send first."""


def speaks(data: bytes | bytearray) -> str | None:
    """Return what protocol the first bytes of a peer belong to, if it is none of ours."""
    return next((saying for start, saying in FOREIGN.items() if data.startswith(start)), None)


def no_mqtt(tap: Tap, target: Target, timeout: float) -> str | None:
    """Return why no CONNACK can come on a connection, where it is below MQTT."""
    if said := speaks(tap.first):
        hint = ", but --tls was not given" if said == FOREIGN[TLS_ALERT] and not target.transport.tls else ""
        return f"{target.place} {said}{hint}"
    if len(tap.first) >= FEWEST and (text := _text(tap.first)):
        return f"{target.place} does not speak MQTT: what it sends begins with '{text}'"
    if not target.transport.tls or tap.failed is None:
        return None
    from .tls import late_cause

    return late_cause(tap.failed, target, timeout)


def _text(first: bytes) -> str:
    """Return the first line of what is nothing but text, as other protocols greet with; else nothing."""
    text = first.decode("latin-1")
    if not text.isascii() or not all(each.isprintable() or each in LINE_ENDS for each in text):
        return ""
    return text.strip().splitlines()[0] if text.strip() else ""


def begins_wrong(first: bytes) -> str | None:
    """Return the name of the packet that begins with what came first, where it cannot become a CONNACK."""
    code = first[0] >> 4
    if len(first) < FEWEST or code in MAY_BE_FIRST:
        return None
    return PACKETS[code].name if code in PACKETS else f"packet type {code}"


def no_connack(tap: Tap, target: Target, timeout: float) -> str:
    """Return how a connection ended that never got its CONNACK, as one sentence."""
    if not (tap.ended or tap.failed):
        return f"no CONNACK from {target.place} within {timeout:g} s"
    plain = target.transport.kind == "tcp" and not target.transport.tls and not tap.first
    hint = ", as a port with TLS does where --tls is not given" if plain else ""
    return f"{target.place} closed the connection before CONNACK{hint}"


def explain(error: Exception, target: Target, timeout: float) -> str:
    """Return what went wrong before there was a connection, as one sentence."""
    transport, place = target.transport, target.place
    if transport.proxy:
        from .proxy import ProxyFailed, parse

        if isinstance(error, ProxyFailed):
            return str(error)
        if isinstance(error, TimeoutError):
            return f"no answer from {place} through the proxy {parse(transport.proxy).shown} within {timeout:g} s"
    if transport.bind and getattr(error, "errno", None) in UNBINDABLE:
        return f"cannot connect to {place} from {transport.bind}: {_words(error)}"
    if isinstance(error, (socket.gaierror, ValueError)):
        return f"cannot resolve host '{target.host}'"
    if isinstance(error, TimeoutError):
        return f"no answer from {place} within {timeout:g} s"
    return f"cannot connect to {place}: {_words(error)}"


UNBINDABLE = {errno.EADDRNOTAVAIL, errno.EACCES, getattr(socket, "EAI_ADDRFAMILY", None), socket.EAI_NONAME} - {None}
"""Errors that an address of ours can cause as well as theirs."""


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
