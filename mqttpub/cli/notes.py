"""Sentences of the program itself, on standard error. It is loaded by commands that read files, so it loads little."""

import click


def note(text: str) -> None:
    """Say one sentence on stderr."""
    from ..common.escape import remark

    click.echo(f"mqttpub: {remark(text)}", err=True)
