"""Options files of other clients as the flags of a profile."""

import json
import os
from collections.abc import Iterator
from typing import Any

from ...common.errors import UserError
from .mosquitto.files import default_paths, file_lines
from .mosquitto.options import OPTIONS
from .mqttx.configuration import CONFIGURED, configuration
from .mqttx.grammar import LineError
from .mqttx.options import OPTIONS as MQTTX

OF_MQTTX = [option for options in MQTTX.values() for option in options]
LEVELS = {3: "3.1", 4: "3.1.1", 5: "5"}
SAVED = ("pub", "sub", "conn", "benchConn", "benchPub", "benchSub")
"""Keys of the file that MQTTX's --save-options writes: the commands whose options it holds."""


def imported(client: str, path: str | None) -> tuple[dict[str, Any], list[str]]:
    """Return the flags that a file of a client sets, and the names of its options that no flag corresponds to.

    A line that begins with no option of the client is named by its number, because it may be a password.

    Without a path it is the client's own file. Raises UserError for one that cannot be read.
    """
    if client != "mqttx":
        chosen = path or next(iter(default_paths(client)), "")
        _check(chosen)
        flags, unknown = _sorted(_of_mosquitto(chosen))
        if flags.get("ws") and "url" not in flags:
            # Our port of a WebSocket is that of HTTP.
            flags.setdefault("port", "8883" if {"cafile", "capath"} & set(flags) else "1883")
        return flags, unknown
    chosen = path or os.path.join(os.path.expanduser("~"), ".mqttx-cli", "config")
    _check(chosen)
    return _sorted(_of_json(chosen) if chosen.endswith(".json") else _of_config(chosen))


def _check(path: str) -> None:
    try:
        with open(path, "rb"):
            return
    except OSError as error:
        raise UserError(f"cannot read '{path}': {error.strerror}") from None


def _sorted(pairs: Iterator[tuple[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return flags and values, and the options without a flag, which come with None."""
    found: dict[str, Any] = {}
    unknown: list[str] = []
    for key, value in pairs:
        if value is None:
            unknown.append(key)
        else:
            found[key] = value
    return found, unknown


def _of_mosquitto(path: str) -> Iterator[tuple[str, Any]]:
    for number, (name, *value) in file_lines(path):
        option = OPTIONS.get(name)
        if option is None:
            # Where the value of -P stands on a line of its own, that line is the password.
            yield f"line {number}", None
        elif bool(value) != bool(option.missing):
            yield f"{name} in line {number}", None
        elif option.ours:
            yield option.ours, value[0] if value else option.flag
        else:
            yield name, None


def _of_config(path: str) -> Iterator[tuple[str, Any]]:
    try:
        known = configuration(path)
    except LineError as error:
        raise UserError(str(error)) from None
    ours = {option.key: option.ours for option in OF_MQTTX}
    for key, value in known.items():
        name = ours.get(CONFIGURED.get(key, ""))
        if value:
            yield (name, value) if name else (key, None)


def _of_json(path: str) -> Iterator[tuple[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None
    except RecursionError:
        raise UserError(f"{path}: its values are nested too deeply") from None
    tables = known if isinstance(known, dict) else {}
    table: dict[str, Any] = next((tables[name] for name in SAVED if isinstance(tables.get(name), dict)), {})
    ours = {option.saved: option.ours for option in OF_MQTTX if option.ours}
    for key, value in table.items():
        if key == "mqttVersion" and value in LEVELS:
            yield "mqtt-version", LEVELS[value]
        elif key in ours and isinstance(value, (str, int, bool)):
            yield ours[key], value
        elif value not in (None, False, []):
            yield key, None
