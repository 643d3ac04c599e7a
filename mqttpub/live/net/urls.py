"""Hosts, paths, headers and the authority of a URL: what may be in a request that others read line by line.

Every such value is checked here, whether it comes from flags, the environment, profiles, URLs or options of
Spark. The messages never repeat a text that may hold a password. `urllib.parse.urlsplit` would not do: it drops
line breaks and tabs in silence, ends a topic at ? and #, and accepts % without hexadecimal digits.
"""

from collections.abc import Iterable
from string import ascii_letters, digits
from typing import NamedTuple

HEX_DIGITS = b"0123456789abcdefABCDEF"
TOKEN = frozenset("!#$%&'*+-.^_`|~" + ascii_letters + digits)
"""Characters of a header's name (RFC 9110, 5.6.2)."""
NOT_IN_HOST = frozenset(' /?#@[]\\<>^|"')
"""Characters that end a host in a URL or cannot be in one."""


SCHEMES = ("mqtt", "mqtts", "ws", "wss")
"""Schemes of the URL of a broker."""
HTTP = ("ws", "wss")
"""Those whose path is an HTTP path, not a topic."""


class BrokerUrl(NamedTuple):
    """The parts of the URL of a broker; None for those it omits."""

    protocol: str
    host: str
    port: int | None
    """None for the default port of the protocol."""
    username: str | None = None
    password: bytes | None = None
    topic: str | None = None
    path: str | None = None
    """HTTP path, still percent-encoded."""


def broker_url(text: str) -> BrokerUrl:
    """Return the parts of the URL of a broker.

    Raises ValueError with a message that does not repeat the URL, since it may hold a password.
    """
    protocol, place, path = split(text, SCHEMES)
    is_http = protocol in HTTP
    return BrokerUrl(
        protocol=protocol, host=place.host, port=place.port, username=place.username, password=place.password,
        topic=None if is_http else decoded_text(path[1:], "topic") or None, path=(path or None) if is_http else None,
    )  # fmt: skip


class Authority(NamedTuple):
    """The part of a URL between the scheme and the path, percent-decoded."""

    host: str
    port: int | None = None
    username: str | None = None
    password: bytes | None = None


def split(text: str, schemes: Iterable[str]) -> tuple[str, Authority, str]:
    """Return scheme, authority and path of a URL, the path with its slash and still encoded.

    Raises ValueError for a scheme that is not among `schemes` and for a wrong authority; its message does not repeat
    the URL, which may hold a password.
    """
    scheme, found, rest = text.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in schemes:
        raise ValueError(f"it does not begin with any of {', '.join(f'{each}://' for each in schemes)}")
    place, slash, path = rest.partition("/")
    return scheme, authority(place), slash + path


def authority(text: str) -> Authority:
    """Return the parts of `user:password@host:port`.

    Raises ValueError, whose message does not repeat `text`: it may hold a password.
    """
    user, at, place = text.rpartition("@")
    name, colon, password = user.partition(":")
    host, port = _place(place)
    return Authority(
        host, port, decoded_text(name, "user name") if at else None, decoded(password, "password") if colon else None
    )


def _place(place: str) -> tuple[str, int | None]:
    """Return host and port; an IPv6 address stands in brackets."""
    if place.startswith("["):
        host, closed, rest = place[1:].partition("]")
        if not closed or rest[:1] not in ("", ":"):
            raise ValueError("its IPv6 address has no ]")
        port = rest[1:]
        # RFC 6874 writes the % in front of a zone as %25; many write it as it is, and then 25 alone is a zone.
        address, _, zone = host.partition("%25")
        if zone:
            host = f"{address}%{decoded_text(zone, 'host')}"
    else:
        host, _, port = place.partition(":")
        host = decoded_text(host, "host")
    if not host:
        raise ValueError("it has no host")
    return check_host(host), _number(port) if port else None


def _number(port: str) -> int:
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise ValueError("its port is not a number from 1 to 65535")
    return int(port)


def decoded_text(text: str, what: str) -> str:
    """Return the text that percent-encoded text stands for; raises ValueError with `what` it is."""
    try:
        return decoded(text, what).decode()
    except UnicodeDecodeError:
        raise ValueError(f"its {what} is not UTF-8") from None


def decoded(text: str, what: str) -> bytes:
    """Return the bytes that percent-encoded text stands for; raises ValueError with `what` it is."""
    first, *rest = text.encode("utf-8", "surrogateescape").split(b"%")
    if any(len(piece) < 2 or piece[:2].strip(HEX_DIGITS) for piece in rest):
        raise ValueError(f"its {what} has a % without two hexadecimal digits")
    return first + b"".join(bytes.fromhex(piece[:2].decode()) + piece[2:] for piece in rest)


def check_host(text: str) -> str:
    """Return a host name or address without brackets; raises ValueError."""
    name = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if not name:
        raise ValueError("a host has at least one character")
    if ":" in name:
        _check_ipv6(name)
    if not name.isprintable() or NOT_IN_HOST & set(name):
        raise ValueError("a host has a character that no host name has")
    return name


def _check_ipv6(name: str) -> None:
    from ipaddress import IPv6Address

    try:
        IPv6Address(name)
    except ValueError:
        raise ValueError("a host with a colon that is not an IPv6 address") from None


def check_path(text: str) -> str:
    """Return the path of an HTTP request, beginning with a slash; raises ValueError."""
    if " " in text or not text.isprintable():
        raise ValueError("a path cannot have blanks or control characters")
    return text if text.startswith("/") else f"/{text}"


def shown_path(path: str) -> str:
    """Return a path for people: what follows the question mark may be a signature, and is left out."""
    plain, question, _ = path.partition("?")
    return f"{plain}?..." if question else plain


def check_header(name: str, value: str) -> tuple[str, str]:
    """Return the name and the value of a header; raises ValueError without the value."""
    if not name or not TOKEN.issuperset(name):
        raise ValueError("the name of a header has only letters, digits and !#$%&'*+-.^_`|~")
    if not value.isprintable():
        raise ValueError(f"the value of {name} has a control character")
    return name, value
