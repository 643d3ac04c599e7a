"""Messages of the program on standard error; imported by every command, so it imports little."""

import click


def note(text: str) -> None:
    """Print one sentence on standard error."""
    from ..common.escape import remark

    click.echo(f"mqttpub: {remark(text)}", err=True)
