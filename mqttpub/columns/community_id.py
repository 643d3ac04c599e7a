"""The Community ID of a TCP connection, by which Zeek, Suricata and others name it too."""

from base64 import b64encode
from hashlib import sha1
from ipaddress import ip_address

_SEED, _TCP = b"\0\0", b"\6\0"
"""The default seed; the protocol and a byte of padding."""


def community_id(client: str | None, server: str | None) -> str | None:
    """Return the Community ID, version 1, of two ends as `10.0.0.1:1883` or `[::1]:1883`; None if these are no such."""
    try:
        one, other = sorted(_parsed(end or "") for end in (client, server))
    except (ValueError, OverflowError):
        return None
    data = _SEED + one[0] + other[0] + _TCP + one[1] + other[1]
    return "1:" + b64encode(sha1(data, usedforsecurity=False).digest()).decode()


def _parsed(end: str) -> tuple[bytes, bytes]:
    """Return address and port as in packets; raises ValueError."""
    host, _, port = end.rpartition(":")
    return ip_address(host.strip("[]")).packed, int(port).to_bytes(2)
