"""Messages on standard error and JSON records on standard output; every command imports it, so it imports little."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..live.failures import Failure


def note(text: str) -> None:
    """Print one sentence on standard error."""
    from ..common.escape import remark

    click.echo(f"mqttpub: {remark(text)}", err=True)


def print_json(values: dict[str, Any]) -> None:
    """Print one record as a line."""
    import json

    from ..common.escape import json_text

    shown = {key: json_text(value) if isinstance(value, str) else value for key, value in values.items()}
    click.echo(json.dumps(shown, separators=(",", ":")))


def print_failure(failure: "Failure") -> None:
    """Print the record of what ends a run."""
    print_json({"event": "failure", "status": int(failure.status), "message": str(failure)})
