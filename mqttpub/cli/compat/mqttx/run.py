"""The commands of MQTTX: which one a line names, its values, and how its end is said."""

import sys
from collections.abc import Callable
from importlib import import_module

import click

from .... import __version__
from ....common.errors import UserError
from ....live.failures import Failure, Interrupted
from . import configuration, words
from .grammar import LineError, Values, read
from .options import OPTIONS

OTHERS = ("check", "init", "simulate", "ls")
"""Commands of MQTTX that have no equivalent."""
BENCHMARKS = {
    "conn": "mqttpub bench conn --connections 1000 --connect-interval 10 --duration 60",
    "pub": "mqttpub bench pub --connections 1000 --rate 1 --duration 60 -t TOPIC",
    "sub": "mqttpub bench sub --connections 1000 --publishers 0 --duration 60 -t TOPIC",
}
"""For each benchmark of MQTTX, the line of ours that does the same as it does without options, for a minute."""
VERSION = "1.13.0"
"""The version of MQTTX whose lines are read."""
USAGE = "Usage: mqttx pub|sub|conn [options]\n"


def run(given: list[str]) -> int:
    """Run a line of MQTTX and return the exit status."""
    try:
        if given[:1] in (["-v"], ["--version"]):
            sys.stdout.write(f"{VERSION} (mqttpub {__version__})\n")
            return words.DONE
        name, rest = _command(given)
        if not name:
            sys.stdout.write(USAGE)
            return words.DONE if given else words.FAILED
        values = read(rest, OPTIONS[name])
        if values["help"]:
            sys.stdout.write(_usage(name))
            return words.DONE
        configuration.configure(values)
        work: Callable[[Values], None] = import_module(f".{name}", __package__).run
        work(values)
    except LineError as error:
        return _complain(str(error))
    except UserError as error:
        words.failed(f"Error: {error}")
        return words.FAILED
    except click.ClickException as error:
        words.failed(f"Error: {error.message}")
        return words.FAILED
    except words.Ended as ended:
        if str(ended):
            words.failed(str(ended))
        return ended.status
    except Interrupted:
        return words.DONE
    except Failure as failure:
        words.failed(f"Error: {failure}")
        return words.FAILED
    return words.DONE


def _command(given: list[str]) -> tuple[str, list[str]]:
    """Return the command that a line begins with, and the words after it; raises LineError."""
    first, second = (*given, "", "")[:2]
    if first in ("", "--help", "-h", "help"):
        return "", []
    if first in OPTIONS:
        return first, given[1:]
    if first == "bench":
        line = BENCHMARKS.get(second, "mqttpub bench pub|sub|conn")
        raise LineError(f"error: mqttpub has no 'bench' of MQTTX, but a benchmark of its own: `{line}`")
    if first in OTHERS:
        raise LineError(f"error: mqttpub has no '{first}' of MQTTX")
    raise LineError(f"error: unknown command '{first}'")


def _complain(text: str) -> int:
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    return words.FAILED


def _usage(name: str) -> str:
    rows = sorted(f"  {option.shown}" for option in OPTIONS[name] if not option.refusal)
    return "\n".join([f"Usage: mqttx {name} [options]", "", "Options:", *rows, ""])
