"""`mqttpub profile`."""

import click

from ..flags.base import Command
from ..flags.profile import PROFILE_NAME


@click.group(name="profile", context_settings={"help_option_names": ["--help"]})
def command() -> None:
    """Show the named sets of flags in the configuration file.

    The file is ~/.config/mqttpub/config.toml, or in XDG_CONFIG_HOME. A table [profile.NAME]
    holds flags of commands that connect, by their long names; --profile NAME uses them.
    """


@command.command(name="list", cls=Command)
def list_profiles() -> int:
    """Print the names of the profiles."""
    from ..flags.profile import config_path, profiles

    for name in profiles(config_path()):
        click.echo(name)
    return 0


@command.command(name="show", cls=Command)
@click.argument("name", type=PROFILE_NAME)
def show(name: str) -> int:
    """Print the flags that a profile sets, passwords masked."""
    from ..flags.profile import find, lines

    for line in lines(find(name)):
        click.echo(line)
    return 0
