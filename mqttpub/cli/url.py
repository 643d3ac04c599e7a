"""`--url`: a broker, a user and a topic in one word."""

from typing import Any, NamedTuple

import click

from .sources import rank

SCHEMES = ("mqtt", "mqtts", "ws", "wss")
HTTP = ("ws", "wss")
"""Schemes whose path is one of HTTP, not a topic."""
DIGITS = b"0123456789abcdefABCDEF"
INSTEAD = {"password": ("password", "password_file", "ask_password")}
"""Flags that say the same as a part of the URL, where they are not just its own."""


class Url(NamedTuple):
    """What a URL says; None for what it leaves out."""

    protocol: str
    host: str
    port: int | None
    """None for the one that belongs to the protocol."""
    username: str | None = None
    password: bytes | None = None
    topic: str | None = None
    path: str | None = None
    """Of HTTP, still encoded."""


def parse(text: str) -> Url:
    """Return the parts of a URL; raises ValueError, without the URL, for it may hold a password."""
    scheme, found, rest = text.partition("://")
    protocol = scheme.lower()
    if not found or protocol not in SCHEMES:
        raise ValueError(f"it begins with none of {', '.join(f'{each}://' for each in SCHEMES)}")
    authority, slash, path = rest.partition("/")
    user, at, place = authority.rpartition("@")
    name, colon, password = user.partition(":")
    host, port = _place(place)
    return Url(
        protocol, host, port,
        username=_text(name, "user name") if at else None,
        password=_decoded(password, "password") if colon else None,
        topic=_text(path, "topic") or None if protocol not in HTTP else None,
        path=slash + path if slash and protocol in HTTP else None,
    )  # fmt: skip


def masked_url(text: Any) -> str:
    """Return a URL with its password masked."""
    scheme, found, rest = str(text).partition("://")
    authority, slash, path = rest.partition("/")
    user, at, place = authority.rpartition("@")
    name, colon, password = user.partition(":")
    return f"{scheme}{found}{name}{colon}{'*' * len(password)}{at}{place}{slash}{path}"


def _place(place: str) -> tuple[str, int | None]:
    """Return host and port; an IPv6 address stands in brackets."""
    if place.startswith("["):
        host, closed, rest = place[1:].partition("]")
        if not closed or rest[:1] not in ("", ":"):
            raise ValueError("its IPv6 address has no ]")
        port = rest[1:]
    else:
        host, _, port = place.partition(":")
        host = _text(host, "host")
    if not host:
        raise ValueError("it has no host")
    return host, _number(port) if port else None


def _number(port: str) -> int:
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise ValueError("its port is not a number from 1 to 65535")
    return int(port)


def _text(text: str, what: str) -> str:
    try:
        return _decoded(text, what).decode()
    except UnicodeDecodeError:
        raise ValueError(f"its {what} is not UTF-8") from None


def _decoded(text: str, what: str) -> bytes:
    """Return the bytes that percent-encoded text stands for."""
    first, *rest = text.encode("utf-8", "surrogateescape").split(b"%")
    if any(len(piece) < 2 or piece[:2].strip(DIGITS) for piece in rest):
        raise ValueError(f"its {what} has a % without two hexadecimal digits")
    return first + b"".join(bytes.fromhex(piece[:2].decode()) + piece[2:] for piece in rest)


def apply(ctx: click.Context) -> None:
    """Let the parts of the URL take the place of flags whose source is weaker."""
    url: Url | None = ctx.params.get("url")
    if url is None:
        return
    if url.protocol != "mqtt" and "protocol" not in ctx.params:
        raise click.BadParameter(f"{url.protocol} is not supported", ctx, param_hint="--url")
    source = ctx.get_parameter_source("url")
    assert source
    several = {param.name for param in ctx.command.params if param.multiple}
    for name, value in url._asdict().items():
        if (value is None and name != "port") or name not in ctx.params or _overridden(ctx, name):
            continue
        ctx.params[name] = (value,) if name in several else value
        ctx.set_parameter_source(name, source)


def _overridden(ctx: click.Context, name: str) -> bool:
    return any(rank(ctx, each) >= rank(ctx, "url") for each in INSTEAD.get(name, (name,)))
