"""The Community ID of a TCP connection, by which Zeek, Suricata and others name it too."""

from base64 import b64encode
from hashlib import sha1
from ipaddress import ip_address

_SEED, _TCP = b"\0\0", b"\6\0"
"""The default seed; the protocol and a byte of padding."""


def community_id(client: tuple[str | None, int | None], server: tuple[str | None, int | None]) -> str | None:
    """Return the Community ID, version 1, of two ends: IP address and port; None where one is unknown or another."""
    try:
        one, other = sorted((ip_address(address or "").packed, port) for address, port in (client, server) if port)
    except ValueError:
        return None
    data = _SEED + one[0] + other[0] + _TCP + one[1].to_bytes(2) + other[1].to_bytes(2)
    return "1:" + b64encode(sha1(data, usedforsecurity=False).digest()).decode()
