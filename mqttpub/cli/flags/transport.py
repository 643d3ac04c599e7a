"""How to reach the broker: the flags for TLS, WebSocket, Unix socket, proxy and local address."""

from typing import Any

import click

from ...live.failures import Unusable
from ...live.net.transport import TLS_PORT, Tls, Transport
from ...live.net.urls import TOKEN, check_header, check_path
from .base import Flag, FlagValues, flag, origin, together
from .types import ADDRESS, PATH, WORD, PathWord, SecretType

FILE = PathWord(exists=True, dir_okay=False)
FOLDER = PathWord(exists=True, file_okay=False)
"""Ports by kind of transport and whether there is TLS."""
IMPLY_TLS = (
    "cafile", "capath", "cert", "key", "key_password", "key_password_file", "tls_version", "tls_max_version", "ciphers",
    "alpn", "sni", "key_log", "insecure", "no_verify_hostname",
)  # fmt: skip
"""Flags that imply TLS."""
PROTOCOLS = {"mqtt": (False, False), "mqtts": (False, True), "ws": (True, False), "wss": (True, True)}
"""Names of the protocols: whether they use WebSocket, and whether they use TLS."""
ALONE = {"ws": "--ws", "path": "--ws-path", "headers": "--ws-header", "proxy": "--proxy", "bind": "--bind"}
"""Flags that do not combine with a Unix socket."""
BLAMED = {
    "ca_file": ("cafile",), "ca_path": ("capath",), "key_password": ("key_password", "key_password_file"),
    "server_name": ("sni",), "maximum": ("tls_max_version",),
}  # fmt: skip
"""Fields of Tls and Transport that can be unusable, and the flags that set them, where the names differ."""


class TlsVersionType(click.ParamType[str]):
    """A TLS version, written 1.2 or tlsv1.2."""

    name = "1.2|1.3"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the number."""
        number = str(value).lower().removeprefix("tls").removeprefix("v")
        if number not in ("1.2", "1.3"):
            self.fail(f"'{value}' is neither 1.2 nor 1.3", param, ctx)
        return number


class ProxyType(click.ParamType[str]):
    """The URL of a proxy."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the URL once its parts are checked."""
        from ...live.net.proxy import parse
        from .passwords import note_secret

        try:
            proxy = parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if proxy.password and ctx and param:
            note_secret(ctx, param.name, "a proxy's password")
        return str(value)


class HeaderType(click.ParamType[tuple[str, str]]):
    """An HTTP header: `name: value` or name=value. Messages never repeat its value, which may be a credential."""

    name = "name: value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the name and the value."""
        pair = tuple(map(str, value)) if isinstance(value, (tuple, list)) else header_parts(value)
        if len(pair) != 2:
            self.fail(
                "a header has the form 'name: value' (this value is not shown because it may be a secret)", param, ctx
            )
        try:
            return check_header(*pair)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def header_parts(text: str) -> tuple[str, ...]:
    """Return name and value, split at the first `:` or `=`, neither of which a name can contain."""
    at = min((at for at in (text.find(":"), text.find("=")) if at >= 0), default=None)
    return (text,) if at is None else (text[:at], text[at + 1 :].strip(" "))


def masked_header(given: str | list[str]) -> str | list[str]:
    """Return a header, as text or as its two words, with its value masked, since it may be a credential."""
    if isinstance(given, list):
        return [*given[:-1], *("*" * len(each) for each in given[-1:])] if len(given) == 2 else ["*"] * len(given)
    name, *value = header_parts(given)
    return given.removesuffix(value[0]) + "*" * len(value[0]) if value and TOKEN.issuperset(name) else "*" * len(given)


class PathType(click.ParamType[str]):
    """The path of a URL, which begins with a slash."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path."""
        try:
            return check_path(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


way_flags = together(
    flag(
        "--protocol", type=click.Choice(tuple(PROTOCOLS)), metavar="|".join(PROTOCOLS),
        help="Transport: TCP, TLS, WebSocket, or WebSocket over TLS.",
    ),
    flag("--ws", aliases=("-ws",), is_flag=True, help="Use WebSocket."),
    flag(
        "--ws-path", "path", aliases=("--path", "-ws:path"), type=PathType(), metavar="PATH",
        help="Path in the URL of the WebSocket. [default: /mqtt]",
    ),
    flag(
        "--ws-header", "headers", aliases=("--ws-headers", "-wh"), type=HeaderType(), multiple=True,
        metavar="'NAME: VALUE'", help="Header of the WebSocket request.",
    ),
    flag("--unix", type=PATH, metavar="PATH", help="Connect to a Unix socket."),
    flag(
        "--proxy", type=ProxyType(), metavar="URL",
        help="Connect through a proxy: socks5://, socks5h:// (the proxy resolves names), socks4:// or http://. "
        "The environment variables mqtt_proxy and all_proxy are ignored.",
    ),
    flag("-A", "--bind", type=ADDRESS, metavar="ADDRESS", help="Local address to connect from."),
    group="Transport",
)  # fmt: skip

tls_flags = together(
    flag(
        "--tls/--no-tls", "tls", default=None, aliases=("--secure", "--tls-use-os-certs"),
        help="Use TLS; implied by any flag in this group, mqtts, wss and port 8883.",
    ),
    flag(
        "--cafile", aliases=("--ca", "--ca-cert", "--server-cert"), type=FILE, common=True, metavar="PATH",
        help="Trusted CA certificates. [default: those of the system]",
    ),
    flag(
        "--capath", aliases=("--ca-cert-dir", "--server-cert-dir"), type=FOLDER, metavar="PATH",
        help="Folder of trusted CA certificates.",
    ),
    flag("--cert", aliases=("--client-cert",), type=FILE, metavar="PATH", help="Client certificate."),
    flag(
        "--key", aliases=("--client-private-key",), type=FILE, metavar="PATH",
        help="Private key of --cert.",
    ),
    flag(
        "--key-password", aliases=("--keypw", "--client-private-key-password"), metavar="PASSWORD",
        type=SecretType("the password of a key"),
        help="Password of --key; prefer --key-password-file or MQTTPUB_KEY_PASSWORD.",
    ),
    flag("--key-password-file", type=FILE, metavar="PATH", help="File whose first line is the password of --key."),
    flag("--tls-version", type=TlsVersionType(), metavar="1.2|1.3", help="Minimum TLS version. [default: 1.2]"),
    flag("--tls-max-version", type=TlsVersionType(), metavar="1.2|1.3", help="Maximum TLS version."),
    flag("--ciphers", type=WORD, metavar="LIST", help="Ciphers for TLS 1.2, in OpenSSL notation."),
    flag(
        "--alpn", aliases=("--tls-alpn",), type=WORD, multiple=True, metavar="NAME",
        help="ALPN protocol to request.",
    ),
    flag("--sni", type=WORD, metavar="NAME", help="Server name to request and verify. [default: the host]"),
    flag(
        "--key-log", aliases=("--tls-keylog",), type=PATH, metavar="PATH",
        help="Append the TLS session keys to this file (for tshark).",
    ),
    flag(
        "--insecure", is_flag=True, common=True,
        help="Verify nothing; with --cafile or --capath, all but the name.",
    ),
    flag(
        "--no-verify-hostname", is_flag=True,
        help="Accept a certificate for any name, if a trusted CA issued it.",
    ),
    group="TLS",
)  # fmt: skip

transport_flags = together(way_flags, tls_flags)


def transport_of(given: FlagValues) -> Transport:
    """Return the Transport that the flags describe; plain TCP for a command without these flags.

    Raises UsageError for flags that contradict each other.
    """
    if "tls" not in given:
        return Transport()
    websocket, secure = PROTOCOLS[given.get("protocol") or "mqtt"]
    websocket = websocket or bool(given.get("ws"))
    tls = _tls(given) if _wants_tls(given, secure, websocket) else None
    if given.get("unix") is not None:
        return _unix(given, websocket, tls)
    for name in ("path", "headers"):
        if given.get(name) and not websocket:
            raise click.UsageError(f"{ALONE[name]} needs --ws")
    way = Transport(tls=tls, proxy=given["proxy"], bind=given["bind"])
    if not websocket:
        return way
    return way._replace(kind="websocket", path=given["path"] or "/mqtt", headers=tuple(given["headers"]))


def _wants_tls(given: FlagValues, secure: bool, websocket: bool) -> bool:
    """Whether to use TLS: as --tls or --no-tls says, otherwise as the protocol, another flag or the port imply."""
    if given.get("tls") is not None:
        return bool(given["tls"])
    by_port = given.get("port") == TLS_PORT and not websocket and given.get("protocol") is None
    return secure or by_port or any(given.get(name) for name in IMPLY_TLS)


def _unix(given: FlagValues, websocket: bool, tls: Tls | None) -> Transport:
    names = [name for key, name in ALONE.items() if given.get(key)]
    names += ["TLS"] * bool(tls) + ["WebSocket"] * (websocket and not given.get("ws"))
    if names:
        raise click.UsageError(f"--unix does not go with {' and '.join(names)}")
    return Transport(kind="unix", path=given["unix"])


def _tls(given: FlagValues) -> Tls:
    if given["key"] and not given["cert"]:
        raise click.UsageError("--key needs --cert")
    tls = Tls(
        ca_file=given["cafile"], ca_path=given["capath"], cert=given["cert"], key=given["key"],
        key_password=_key_password(given), alpn=tuple(given["alpn"]), server_name=given["sni"],
        minimum=given["tls_version"], maximum=given["tls_max_version"], ciphers=given["ciphers"],
        key_log=given["key_log"], insecure=given["insecure"], any_name=given["no_verify_hostname"],
    )  # fmt: skip
    if tls.insecure:
        unverified = "the certificate of the broker" + (", but for its chain," if tls.verifies_chain else "")
        click.echo(f"mqttpub: --insecure: {unverified} is not verified", err=True)
    return tls


def _key_password(given: FlagValues) -> bytes | None:
    if not given["key_password_file"]:
        password: bytes | None = given["key_password"]
        return password
    from .passwords import first_line

    return first_line(given["key_password_file"], "--key-password-file")


def check(transport: Transport) -> None:
    """Raise BadParameter, naming the flag, for a file or name that no connection could use."""
    try:
        if transport.tls:
            from ...live.net.tls import check as check_tls

            check_tls(transport.tls)
    except Unusable as error:
        ctx = click.get_current_context()
        names = BLAMED.get(error.part, (error.part,))
        flag = next(each for each in ctx.command.params if each.name in names and ctx.params[each.name])
        assert isinstance(flag, Flag)
        raise click.BadParameter(str(error), ctx, flag, origin(ctx, flag)) from None


def port_of(given: FlagValues, transport: Transport) -> int:
    """Return the port that was given, otherwise the default port of the transport."""
    port: int | None = given["port"]
    return port or transport.default_port
