"""The configuration file of MQTTX, ~/.mqttx-cli/config, and the defaults that it sets."""

import os

from .grammar import LineError, Values

CONFIGURED = {
    "host": "host", "port": "port", "protocol": "protocol", "max_reconnect_times": "maximum_reconnect_times",
    "username": "username", "password": "password",
}  # fmt: skip
"""Keys of the section [mqtt], and those of the options that they are the defaults of."""


def configure(values: Values) -> None:
    """Take the defaults from ~/.mqttx-cli/config, if there is one; raises LineError."""
    path = os.path.join(os.path.expanduser("~"), ".mqttx-cli", "config")
    if not os.path.isfile(path):
        return
    found = {CONFIGURED[key]: text for key, text in configuration(path).items() if key in CONFIGURED and text}
    for key in ("port", "maximum_reconnect_times"):
        if key in found and not found[key].isdigit():
            raise LineError(f"{path}: {key} is not a number")
    values.complete({key: int(text) if text.isdigit() and key in ("port", "maximum_reconnect_times") else text
                     for key, text in found.items()})  # fmt: skip


def configuration(path: str) -> dict[str, str]:
    """Return the section [mqtt] of a configuration file, empty if there is none.

    Raises LineError, which does not show a line, for it may hold a password.
    """
    from configparser import ConfigParser, Error

    config = ConfigParser(interpolation=None)
    try:
        config.read(path, encoding="utf-8")
    except Error as error:
        lines = [getattr(error, "lineno", None), *(number for number, _ in getattr(error, "errors", ()))]
        number = next((each for each in lines if each), 1)
        raise LineError(
            f"{path}: line {number} is not 'key = value' of a section, or its key was there before"
        ) from None
    except ValueError as error:
        raise LineError(f"{path}: {error}") from None
    return dict(config["mqtt"]) if config.has_section("mqtt") else {}
