"""The usage that the mosquitto clients print: here a list of the options, made from their table."""

from .... import __version__
from .options import OPTIONS

VERSION = "2.1.0"
"""The version of the clients whose lines are read."""
LAST = [
    (["-D", "--property"], "COMMAND PROPERTY VALUE"),
    (["-o"], "OPTIONS_FILE"),
    (["--help"], ""),
    (["--version"], ""),
]
"""The options that are read on their own."""
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
    lines += [f"  {', '.join(names)} {value}".rstrip() for names, value in option_rows(program)]
    return "\n".join([*lines, ""])


def option_rows(program: str) -> list[tuple[list[str], str]]:
    """Return the options of a client in alphabetical order: names, and the name of the value, empty for none."""
    known = dict.fromkeys(row for row in OPTIONS.values() if program in row.programs)
    rows = [(list(row.names), row.metavar) for row in known]
    return [*sorted(rows, key=lambda row: row[0][0].lstrip("-").lower()), *LAST]
