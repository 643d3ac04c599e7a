"""The causes of a failed connection, as sentences for people."""

import errno
import socket

from ...spec.packets import Auth, Connack
from ..limits import packet_name
from ..tap import Tap
from .target import Target

TLS_ALERT = b"\x15\x03"
OTHER_PROTOCOLS = {TLS_ALERT: "speaks TLS", b"HTTP/": "speaks HTTP", b"SSH-": "speaks SSH"}
"""First bytes of other protocols."""
LINE_ENDS = "\r\n\t"
DECISIVE_BYTES = 4
"""Bytes that show whether a peer speaks MQTT: in a CONNACK the third is 0 or 1, in a PUBLISH it begins a length."""
MAY_BE_FIRST = (Connack.code, Auth.code)
"""Types of the packets that a server may send first."""


def speaks(data: bytes | bytearray) -> str | None:
    """Return which other protocol the first bytes of a peer belong to, as a predicate; None for an unknown one."""
    return next((saying for start, saying in OTHER_PROTOCOLS.items() if data.startswith(start)), None)


def no_mqtt(tap: Tap, target: Target, timeout_s: float) -> str | None:
    """Return why no CONNACK can come, where the cause lies below MQTT; None otherwise."""
    if predicate := speaks(tap.first):
        hint = (
            ", but --tls was not given" if predicate == OTHER_PROTOCOLS[TLS_ALERT] and not target.transport.tls else ""
        )
        return f"{target.place} {predicate}{hint}"
    if len(tap.first) >= DECISIVE_BYTES and (text := _text(tap.first)):
        return f"{target.place} does not speak MQTT: its first bytes are '{text}'"
    if not target.transport.tls or tap.failed is None:
        return None
    from .tls import late_cause

    return late_cause(tap.failed, target, timeout_s)


def _text(first: bytes) -> str:
    """Return the first line of a greeting that is plain text, as other protocols send it; empty for other bytes."""
    text = first.decode("latin-1")
    if not text.isascii() or not all(each.isprintable() or each in LINE_ENDS for each in text):
        return ""
    return text.strip().splitlines()[0] if text.strip() else ""


def begins_wrong(first: bytes) -> str | None:
    """Return the name of the first packet, from its first bytes, if it cannot be a CONNACK; None otherwise."""
    code = first[0] >> 4
    if len(first) < DECISIVE_BYTES or code in MAY_BE_FIRST:
        return None
    return packet_name(first)


def no_connack(tap: Tap, target: Target, timeout_s: float) -> str:
    """Return one sentence about the end of a connection without a CONNACK."""
    if not (tap.ended or tap.failed):
        return f"no CONNACK from {target.place} within {timeout_s:g} s"
    plain = target.transport.kind == "tcp" and not target.transport.tls and not tap.first
    hint = ", as a TLS port does without --tls" if plain else ""
    return f"{target.place} closed the connection before CONNACK{hint}"


def explain(error: Exception, target: Target, timeout_s: float) -> str:
    """Return one sentence about an error before there was a connection."""
    transport, place = target.transport, target.place
    if transport.proxy:
        from .handshake import ProxyFailed
        from .proxy import parse

        if isinstance(error, ProxyFailed):
            return str(error)
        if isinstance(error, TimeoutError):
            return f"no answer from {place} through the proxy {parse(transport.proxy).shown} within {timeout_s:g} s"
    if transport.bind and getattr(error, "errno", None) in UNBINDABLE:
        return f"cannot connect to {place} from {transport.bind}: {_words(error)}"
    if isinstance(error, (socket.gaierror, ValueError)):
        return f"cannot resolve host '{target.host}'"
    if isinstance(error, TimeoutError):
        return f"no answer from {place} within {timeout_s:g} s"
    return f"cannot connect to {place}: {_words(error)}"


UNBINDABLE = {errno.EADDRNOTAVAIL, errno.EACCES, getattr(socket, "EAI_ADDRFAMILY", None), socket.EAI_NONAME} - {None}
"""Errors that the local address can cause as well as the broker's."""


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
