"""The client side of SOCKS: version 5 (RFC 1928, 1929), and version 4 with host names (SOCKS 4A)."""

import socket

from .handshake import Handshake

MOST_BYTES = 255
"""Length of what one byte of length stands before: user, password, host name."""
NO_METHOD = 0xFF
NAME = 3
"""Type of an address that is a host name."""
ADDRESS_BYTES = {1: 4, 4: 16}
"""Lengths of the other types: IPv4 and IPv6."""
REPLIES_5 = {
    1: "General SOCKS server failure", 2: "Connection not allowed by ruleset", 3: "Network unreachable",
    4: "Host unreachable", 5: "Connection refused", 6: "TTL expired",
    7: "Command not supported, or protocol error", 8: "Address type not supported",
}  # fmt: skip
GRANTED_4 = 0x5A
REPLIES_4 = {
    0x5B: "Request rejected or failed", 0x5C: "the proxy cannot connect to identd on the client",
    0x5D: "the client and identd report different users",
}  # fmt: skip


def connect_socks5(proxy: Handshake, host: str, port: int, username: bytes | None, password: bytes) -> None:
    """Ask a SOCKS5 proxy for a host name or address; raises ProxyFailed, and ValueError for an unusable host."""
    address = _address(host)
    proxy.send(b"\x05\x02\x00\x02" if username else b"\x05\x01\x00")
    version, method = proxy.read(2)
    if version != 5:
        raise proxy.broken("does not speak SOCKS5")
    if method == NO_METHOD:
        raise proxy.user_refused("All offered authentication methods were rejected")
    if method:
        _log_in(proxy, username or b"", password)
    proxy.send(b"\x05\x01\x00" + address + port.to_bytes(2, "big"))
    version, code = proxy.read(2)
    if version != 5:
        raise proxy.broken("does not speak SOCKS5")
    if code:
        raise proxy.refused(f"0x{code:02x}: {REPLIES_5.get(code, 'unknown reason')}")
    _, kind = proxy.read(2)
    if kind != NAME and kind not in ADDRESS_BYTES:
        raise proxy.broken(f"sent an address of unknown type {kind}")
    # The address that the proxy uses, and its port, are of no interest, but must be read.
    proxy.read((proxy.read(1)[0] if kind == NAME else ADDRESS_BYTES[kind]) + 2)


def _log_in(proxy: Handshake, username: bytes, password: bytes) -> None:
    if max(len(username), len(password)) > MOST_BYTES:
        raise proxy.user_refused(f"SOCKS5 allows at most {MOST_BYTES} bytes for the user and for the password")
    proxy.send(b"\x01" + bytes((len(username),)) + username + bytes((len(password),)) + password)
    if proxy.read(2)[1]:
        raise proxy.user_refused("SOCKS5 authentication failed")


def _address(host: str) -> bytes:
    """Return the type and the bytes of an address or a host name; raises ValueError."""
    for kind, family in ((1, socket.AF_INET), (4, socket.AF_INET6)):
        if packed := _packed(family, host):
            return bytes((kind,)) + packed
    name = host.encode("idna")
    if len(name) > MOST_BYTES:
        raise ValueError(f"'{host}' is not a host name")
    return bytes((NAME, len(name))) + name


def _packed(family: int, host: str) -> bytes:
    try:
        return socket.inet_pton(family, host)
    except OSError:
        return b""


def connect_socks4(proxy: Handshake, host: str, port: int, username: bytes | None, password: bytes) -> None:
    """Ask a SOCKS4 proxy, which has no passwords, for an IPv4 address or a host name; raises as `connect_socks5`."""
    user = username or b""
    if b"\0" in user:
        raise proxy.user_refused("a user of SOCKS4 cannot contain a zero byte")
    packed = _packed(socket.AF_INET, host)
    # An address that cannot be announces a host name after the user.
    name = b"" if packed else host.encode("idna") + b"\0"
    proxy.send(b"\x04\x01" + port.to_bytes(2, "big") + (packed or b"\0\0\0\1") + user + b"\0" + name)
    version, code = proxy.read(8)[:2]
    if version:
        raise proxy.broken("does not speak SOCKS4")
    if code != GRANTED_4:
        raise proxy.refused(f"0x{code:02x}: {REPLIES_4.get(code, 'unknown reason')}")
