"""Options in files: -so and -lo, whose keys are the commands, and the defaults of ~/.mqttx-cli/config."""

import json
import os
from typing import Any

from .grammar import LineError, Values

DEFAULT_PATH = "mqttx-cli-options.json"
NAMES = {"bench conn": "benchConn", "bench pub": "benchPub", "bench sub": "benchSub"}
"""The keys of commands whose name has two words."""
NOT_SAVED = ("saveOptions", "loadOptions", "debug", "help")
CONFIGURED = {
    "host": "hostname", "port": "port", "protocol": "protocol", "max_reconnect_times": "maximumReconnectTimes",
    "username": "username", "password": "password",
}  # fmt: skip
"""Keys of the section [mqtt], and the options that they are the defaults of."""


def _path(chosen: Any) -> str:
    path = chosen if isinstance(chosen, str) else DEFAULT_PATH
    if path.endswith((".yaml", ".yml")):
        raise LineError(f"{path}: YAML needs a library that mqttpub does without; convert the file to JSON")
    return path


def load(command: str, values: Values) -> None:
    """Take the options of a command from the file of -lo; those of the line win. Raises LineError."""
    if not values["loadOptions"]:
        return
    path = _path(values["loadOptions"])
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except OSError as error:
        raise LineError(f"Failed to load options from {path}: {error.strerror}") from None
    except ValueError as error:
        raise LineError(f"Failed to load options from {path}: {error}") from None
    if not isinstance(known, dict) or not isinstance(known.get(NAMES.get(command, command)), dict):
        raise LineError(f"No options for {command} command found in {path}")
    values.complete(known[NAMES.get(command, command)])


def save(command: str, values: Values) -> None:
    """Write the options into the file of -so, beside those of other commands; raises LineError.

    The password is in it, so that nobody else can read a new file.
    """
    if not values["saveOptions"]:
        return
    path = _path(values["saveOptions"])
    own = {key: value for key, value in values.by_key.items() if value is not None and key not in NOT_SAVED}
    try:
        known: dict[str, Any] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        known[NAMES.get(command, command)] = own
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(known, file, indent=2, ensure_ascii=False)
    except (OSError, ValueError, TypeError) as error:
        raise LineError(f"Failed to save options to {path}: {error}") from None


def configure(values: Values) -> None:
    """Take the defaults from ~/.mqttx-cli/config, if there is one; raises LineError."""
    path = os.path.join(os.path.expanduser("~"), ".mqttx-cli", "config")
    if not os.path.isfile(path):
        return
    from configparser import ConfigParser, Error

    config = ConfigParser(interpolation=None)
    try:
        config.read(path, encoding="utf-8")
    except (Error, ValueError) as error:
        raise LineError(f"{path}: {' '.join(str(error).split())}") from None
    if not config.has_section("mqtt"):
        return
    found = {CONFIGURED[key]: text for key, text in config["mqtt"].items() if key in CONFIGURED and text}
    for key in ("port", "maximumReconnectTimes"):
        if key in found and not found[key].isdigit():
            raise LineError(f"{path}: {key} is not a number")
    values.complete({key: int(text) if text.isdigit() and key in ("port", "maximumReconnectTimes") else text
                     for key, text in found.items()})  # fmt: skip
