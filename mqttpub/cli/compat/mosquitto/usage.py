"""The usage that the mosquitto clients print: here a list of the options, made from their table."""

from .... import __version__
from .options import SOURCES, SWITCHES, VALUED

VERSION = "2.1.0"
"""The version of the clients whose lines are read."""
PURPOSES = {
    "mosquitto_pub": "publishes messages to one topic and exits",
    "mosquitto_sub": "subscribes to topics and prints the messages that arrive",
    "mosquitto_rr": "publishes a request and prints the answer",
}


def version_line(name: str) -> str:
    """Return what --version prints."""
    return f"{name} version {VERSION} running on mqttpub {__version__}."


def about(name: str) -> str:
    """Return what --help prints."""
    program = name.removeprefix("mosquitto_")
    lines = [f"{name} {PURPOSES[name]}.", version_line(name), "", f"Usage: {name} [options]", "", "Options:"]
    lines += [f"  {option}" for option in _options(program)]
    lines += ["  -D, --property COMMAND PROPERTY VALUE", "  -o OPTIONS_FILE", "  --help", "  --version", ""]
    return "\n".join(lines)


def _options(program: str) -> list[str]:
    """Return the options of a client, each with its names and its value, in alphabetical order."""
    names: dict[object, list[str]] = {}
    values: dict[object, str] = {}
    for name, switch in SWITCHES.items():
        if program in switch.programs:
            names.setdefault(switch, []).append(name)
    for name, (source, programs) in SOURCES.items():
        if program in programs:
            names.setdefault(source, []).append(name)
    for name, valued in VALUED.items():
        if program in valued.programs:
            names.setdefault(valued, []).append(name)
            values[valued] = valued.missing.removeprefix("no ").removesuffix(" not").replace(" ", "_").upper()
    rows = [f"{', '.join(each)} {values.get(key, '')}".rstrip() for key, each in names.items()]
    return sorted(rows, key=lambda row: row.lstrip("-").lower())
