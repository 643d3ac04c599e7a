"""`mqttpub completion`."""

import click

from ..flags.base import Command

SHELLS = ("bash", "zsh", "fish")


@click.command(
    name="completion",
    cls=Command,
    examples=("mqttpub completion bash > ~/.local/share/bash-completion/completions/mqttpub",),
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the completion script of a shell."""
    from ..completions import script

    click.echo(script(shell), nl=False)
    return 0
