"""Messages on standard error and JSON records on standard output; every command imports it, so it imports little."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..live.failures import Failure

MOST_NOTES = 10
"""Sentences of a kind that are said one by one."""


def note(text: str) -> None:
    """Print one sentence on standard error."""
    from ..common.escape import remark

    click.echo(f"mqttpub: {remark(text)}", err=True)


class FirstNotes:
    """Says the first sentences of a kind one by one, and of the others only how many there were."""

    def __init__(self, say: Callable[[str], None], more: Callable[[int], str] = "{:,} more like these".format) -> None:
        self.count = 0
        self._say = say
        self._more = more

    def __call__(self, text: str) -> None:
        self.count += 1
        if self.count <= MOST_NOTES:
            self._say(text)

    def end(self) -> None:
        """Say how many more there were, if there were any."""
        if (more := self.count - MOST_NOTES) > 0:
            self._say(self._more(more))


def print_json(values: dict[str, Any]) -> None:
    """Print one record as a line."""
    import json

    from ..common.escape import json_text

    shown = {key: json_text(value) if isinstance(value, str) else value for key, value in values.items()}
    click.echo(json.dumps(shown, separators=(",", ":")))


def print_failure(failure: "Failure") -> None:
    """Print the record of what ends a run."""
    print_json({"event": "failure", "status": int(failure.status), "message": str(failure)})
