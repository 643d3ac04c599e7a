"""`mqttpub completion`."""

import click

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion", context_settings={"help_option_names": ["--help"]})
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the completion script of a shell."""
    from ..completions import script

    click.echo(script(shell), nl=False)
    return 0
