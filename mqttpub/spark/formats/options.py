"""Options of the data sources: texts by name, parsed on access; errors are sentences that name the option."""

import difflib
import json
from collections.abc import Collection, Mapping
from typing import Any

from ...live.net.target import Target
from ...live.net.transport import Tls, Transport
from ...spec.declare import Property
from ...spec.packets import Connect
from ...spec.properties import BY_KEY, PropertyRow
from ...spec.versions import Version
from ...wire.types import BINARY, PAIR, STRING
from .errors import OptionError

TLS_OPTIONS = frozenset(
    ("ca_file", "ca_path", "cert", "key", "key_password", "alpn", "server_name", "tls_minimum", "tls_maximum",
     "ciphers", "insecure", "any_name")
)  # fmt: skip
"""Options that imply TLS."""
CONNECTION = TLS_OPTIONS | {
    "host", "port", "version", "transport", "websocket_path", "unix_socket", "tls", "proxy", "bind", "client_id",
    "username", "password", "keep_alive", "timeout", "connect_properties",
}  # fmt: skip
"""Options of both sink and subscription."""
SPARKS = frozenset(("path", "paths", "checkpoint_location", "query_name", "output_mode", "trigger"))
"""Options that Spark adds."""
_YES_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class Options:
    """The options that a user gave; as in Spark, case and underscores in names do not matter."""

    def __init__(self, given: Mapping[str, str], known: Collection[str]) -> None:
        names = {_plain(name): name for name in (*known, *SPARKS)}
        self._given: dict[str, str] = {}
        for name, value in given.items():
            if _plain(name) not in names:
                raise OptionError(f"there is no option '{name}'{_meant(name, known)}")
            self._given[names[_plain(name)]] = value

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def text(self, name: str, default: str = "") -> str:
        """Return an option unchanged."""
        return self._given.get(name, default)

    def maybe(self, name: str) -> str | None:
        """Return an option, or None if it is missing."""
        return self._given.get(name)

    def needed(self, name: str, why: str) -> str:
        """Return a required option; raises OptionError."""
        if not self._given.get(name):
            raise OptionError(f"option '{name}' is missing: {why}")
        return self._given[name]

    def flag(self, name: str, default: bool = False) -> bool:
        """Return whether an option is true, `default` if it is not given; raises OptionError for any other word."""
        given = self._given.get(name)
        if given is None:
            return default
        if given.lower() not in _YES_NO:
            raise OptionError(f"option '{name}' is true or false, not '{given}'")
        return _YES_NO[given.lower()]

    def number(self, name: str, default: int, low: int = 0, high: int = 2**32 - 1) -> int:
        """Return an option that is an integer from `low` to `high`; raises OptionError."""
        given = self._given.get(name)
        if given is None:
            return default
        try:
            value = int(given)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise OptionError(f"option '{name}' is a number from {low} to {high}, not '{given}'")
        return value

    def seconds(self, name: str, default: float) -> float:
        """Return an option that is a duration in seconds; raises OptionError."""
        given = self._given.get(name)
        try:
            value = default if given is None else float(given)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise OptionError(f"option '{name}' is a number of seconds, not '{given}'")
        return value

    def choice(self, name: str, default: str, among: Collection[str]) -> str:
        """Return an option that is one of some words; raises OptionError."""
        value = self._given.get(name, default).lower()
        if value not in among:
            raise OptionError(f"option '{name}' is one of {', '.join(among)}, not '{value}'")
        return value

    def json(self, name: str) -> Any:
        """Return the value of an option in JSON, or None if it is missing; raises OptionError."""
        given = self._given.get(name)
        try:
            return None if given is None else json.loads(given)
        except ValueError as error:
            raise OptionError(f"option '{name}' is not JSON: {error}") from None

    def texts(self, name: str) -> list[str]:
        """Return an option that is a string or a JSON list of strings; raises OptionError."""
        given = self._given.get(name, "")
        if not given.startswith("["):
            return [given] if given else []
        listed = self.json(name)
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise OptionError(f"option '{name}' is a string or a JSON list of strings")
        return listed

    def paths(self) -> list[str]:
        """Return the argument of `load`: one path or several."""
        return self.texts("paths") or ([self._given["path"]] if self._given.get("path") else [])

    def properties(self, name: str, packet: str) -> tuple[Property, ...]:
        """Return properties from a JSON object of names and values; that of User Properties may be a list of pairs."""
        given = self.json(name)
        if given is None:
            return ()
        if not isinstance(given, dict):
            raise OptionError(f"option '{name}' is a JSON object of properties and their values")
        return tuple(each for key, value in given.items() for each in _properties(name, packet, key, value))


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def _meant(name: str, known: Collection[str]) -> str:
    plain = {_plain(each): each for each in known}
    close = difflib.get_close_matches(_plain(name), plain, 1)
    return f"; did you mean '{plain[close[0]]}'?" if close else f"; there are {', '.join(sorted(known))}"


def _properties(option: str, packet: str, key: str, value: Any) -> list[Property]:
    row = BY_KEY.get(key.lower().replace("-", "_").replace(" ", "_"))
    if row is None or packet not in row.packets:
        raise OptionError(f"option '{option}': {packet} has no property '{key}'")
    if row.type is PAIR:
        pairs = list(value.items()) if isinstance(value, dict) else value
        if not isinstance(pairs, list) or not all(_is_pair(each) for each in pairs):
            raise OptionError(f"option '{option}': {row.label} is an object, or a list of pairs of strings")
        return [Property(row.id, (str(left), str(right))) for left, right in pairs]
    return [Property(row.id, property_value(row, value, option))]


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(each, str) for each in value)


def property_value(row: PropertyRow, value: Any, where: str) -> Any:
    """Return the value of a property from text, bytes (`hex:` and digits) or a number; raises OptionError."""
    if row.type is STRING and isinstance(value, str):
        return value
    if row.type is BINARY and isinstance(value, (str, bytes)):
        return _bytes(value, where)
    if row.type not in (STRING, BINARY, PAIR):
        try:
            number = int(value)
            row.type.write(number)
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"{where}: {row.label} cannot be {value!r}") from None
        return number
    raise OptionError(f"{where}: {row.label} cannot be {value!r}")


def _bytes(value: str | bytes, where: str) -> bytes:
    if isinstance(value, bytes):
        return value
    if not value.startswith("hex:"):
        return value.encode()
    try:
        return bytes.fromhex(value[4:])
    except ValueError:
        raise OptionError(f"{where}: '{value}' is not hexadecimal") from None


# connections


def target(options: Options, *more: Property, **connect: Any) -> Target:
    """Return the broker and the CONNECT; `more` are properties for those that the user did not set."""
    transport = _transport(options)
    version = _version(options)
    given = options.properties("connect_properties", "CONNECT")
    taken = {each.id for each in given}
    properties = (*given, *(each for each in more if each.id not in taken)) if version == Version.V5 else ()
    password = options.maybe("password")
    return Target(
        options.text("host", "localhost"),
        options.number("port", transport.default_port, 0, 65535),
        version,
        Connect(
            client_id=connect.pop("client_id", options.text("client_id")), username=options.maybe("username"),
            password=None if password is None else password.encode(),
            keep_alive=options.number("keep_alive", 60, 0, 65535), properties=properties, **connect,
        ),
        transport=transport,
    )  # fmt: skip


def _version(options: Options) -> Version:
    try:
        return Version.named(options.text("version", "5"))
    except ValueError as error:
        raise OptionError(f"option 'version': {error}") from None


def _transport(options: Options) -> Transport:
    kind = options.choice("transport", "unix" if "unix_socket" in options else "tcp", ("tcp", "websocket", "unix"))
    path = {"websocket": options.text("websocket_path", "/mqtt"), "unix": options.text("unix_socket")}.get(kind, "")
    return Transport(kind, path, tls=_tls(options), proxy=options.maybe("proxy"), bind=options.maybe("bind"))


def _tls(options: Options) -> Tls | None:
    if not options.flag("tls", any(name in options for name in TLS_OPTIONS)):
        return None
    password = options.maybe("key_password")
    for name in ("tls_minimum", "tls_maximum"):
        if name in options:
            options.choice(name, "", ("1.2", "1.3"))
    return Tls(
        ca_file=options.maybe("ca_file"), ca_path=options.maybe("ca_path"), cert=options.maybe("cert"),
        key=options.maybe("key"), key_password=None if password is None else password.encode(),
        alpn=tuple(options.texts("alpn")), server_name=options.maybe("server_name"),
        minimum=options.maybe("tls_minimum"), maximum=options.maybe("tls_maximum"), ciphers=options.maybe("ciphers"),
        insecure=options.flag("insecure"), any_name=options.flag("any_name"),
    )  # fmt: skip
