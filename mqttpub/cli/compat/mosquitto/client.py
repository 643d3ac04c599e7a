"""What the three clients share: how a line is run, and how its end is said."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....live.failures import Unusable
from ....live.net.target import Target
from .failures import SENTENCES, Outcome, Status
from .grammar import read
from .settings import SUB, GrammarError, HelpAsked, MosquittoSettings, VersionAsked
from .target import BAD_TLS, Unconnectable

if TYPE_CHECKING:
    from .debug import DebugLines

NO_FILE = "Error: Problem setting TLS options: File not found."


def said(program: str, words: list[str], work: Callable[[MosquittoSettings], None]) -> int:
    """Run a line; say in the client's words why it failed, and return the exit status."""
    name = f"mosquitto_{program}"
    settings = None
    try:
        settings = read(program, words)
        work(settings)
    except GrammarError as error:
        return _wrong(name, error, with_usage=error.with_usage)
    except (HelpAsked, VersionAsked) as asked:
        _about(name, full=isinstance(asked, HelpAsked))
        return Status.USAGE
    except Unconnectable as error:
        return _end(Status.USAGE, (str(error),))
    except Outcome as outcome:
        quiet = settings is not None and settings.quiet
        return _end(outcome.status, () if quiet else outcome.lines)
    return Status.DONE


def _end(status: int, lines: Sequence[str]) -> int:
    sys.stdout.flush()
    sys.stderr.write("".join(f"{line}\n" for line in lines))
    return int(status)


def _wrong(name: str, error: GrammarError, *, with_usage: bool) -> int:
    blank = [""] * error.gap
    if not with_usage:
        return _end(Status.USAGE, [str(error), *blank, "", f"Use '{name} --help' to see usage."])
    _end(Status.USAGE, [str(error), *blank])
    _about(name, full=True)
    return Status.USAGE


def _about(name: str, *, full: bool) -> None:
    from .usage import about, version_line

    text = about(name) if full else version_line(name)
    sys.stdout.write(f"{text}\n")


def debug_lines(settings: MosquittoSettings, target: Target) -> "DebugLines | None":
    """Return the observer that prints the lines of -d, None without -d."""
    if not settings.debug:
        return None
    from .debug import DebugLines

    return DebugLines(target.connect.client_id, target.version, subscribes=settings.program == SUB)


def connectable(target: Target) -> None:
    """Raise Outcome for TLS settings that no connection can be made with."""
    if not target.transport.tls:
        return
    from ....live.net.tls import check

    try:
        check(target.transport.tls)
    except Unusable as error:
        raise _tls_outcome(target, error) from None


def _tls_outcome(target: Target, error: Unusable) -> Outcome:
    tls = target.transport.tls
    assert tls
    missing = error.part == "ca_file" and not os.path.exists(tls.ca_file or "")
    if missing:
        return Outcome(Status.USAGE, NO_FILE)
    if error.part in ("minimum", "maximum"):
        return Outcome(Status.USAGE, BAD_TLS)
    # The clients say no more than the second sentence.
    return Outcome(Status.USAGE, f"Error: {error}.", f"Unable to connect ({SENTENCES[Status.TLS]}).")
