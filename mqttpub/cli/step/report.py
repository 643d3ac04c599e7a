"""How a script ended, for people and for programs."""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...codec.stream import Frame
from ...common.escape import escape
from ...lab.player import PlayFailure
from ...script.writer import ConnectionWriter
from ...spec.versions import Version
from ...view.diagram.difference import difference
from ...view.packet.masking import without_secrets
from ...view.terminal.cells import Line
from .masked import masked


class Played(NamedTuple):
    """A script and how it ended."""

    name: str
    seconds: float
    failure: PlayFailure | None
    """How it went otherwise than it says; None if it did not."""


def lines(played: Played, *, secrets: bool) -> Iterator[Line]:
    """Yield what is shown of a script: one line and, for a failure, what was awaited and what came."""
    took = f"{played.seconds:.2f} s"
    failure = played.failure
    if failure is None:
        yield [("ok      ", "flag"), (f"{escape(played.name)}  {took}", "")]
        return
    word = failure.step.word
    message = escape(message_of(failure, secrets=secrets))
    yield [("FAILED  ", "error"), (f"{escape(played.name)}  line {word.line}: {message}", "")]
    yield [(f"        {word.line:>4}  {escape(_source(failure, secrets=secrets))}", "")]
    if failure.came:
        yield [("        came  ", "label"), (came_text(failure.came, failure.version, secrets=secrets), "")]
        if failure.awaited and secrets | _is_open(failure):
            yield from difference(failure.awaited, failure.came.data)


def message_of(failure: PlayFailure, *, secrets: bool) -> str:
    """Return how a script went otherwise, as a sentence."""
    message = failure.message
    for text in () if secrets else (each.given.word.text for each in failure.wrong):
        message = message.replace(text, masked(text))
    return message


def _source(failure: PlayFailure, *, secrets: bool) -> str:
    source = failure.step.word.source.strip()
    return source if secrets else masked(source)


def _is_open(failure: PlayFailure) -> bool:
    """Whether neither packet has a secret."""
    assert failure.came
    pair = (failure.awaited, failure.came.data)
    return all(without_secrets(data, failure.version, failure.came.direction) == data for data in pair)


def came_text(frame: Frame, version: Version, *, secrets: bool) -> str:
    """Return a packet that came as the step that would await it."""
    assert frame.direction
    data = frame.data if secrets else without_secrets(frame.data, version, frame.direction)
    return ConnectionWriter(version, itertools.count(1)).step(data, frame.direction)


def record(played: Played, *, secrets: bool) -> dict[str, Any]:
    """Return how a script ended, for JSON."""
    failure = played.failure
    known: dict[str, Any] = {
        "event": "script", "script": played.name, "outcome": "failed" if failure else "passed",
        "seconds": round(played.seconds, 6),
    }  # fmt: skip
    if failure:
        word = failure.step.word
        known |= {"line": word.line, "column": word.column, "step": _source(failure, secrets=secrets)}
        known["message"] = message_of(failure, secrets=secrets)
        if failure.came:
            known["came"] = came_text(failure.came, failure.version, secrets=secrets)
            if secrets or _is_open(failure):
                known |= {"came_hex": failure.came.data.hex(), "awaited_hex": failure.awaited.hex() or None}
    return known
