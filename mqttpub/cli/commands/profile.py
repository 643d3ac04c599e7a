"""`mqttpub profile`."""

from typing import Any

import click

from ..flags.base import Command, CommandGroup, Flag
from ..flags.profile import PROFILE_NAME

CLIENTS = ("mosquitto_pub", "mosquitto_sub", "mosquitto_rr", "mqttx")
"""Programs whose options files can be imported."""


@click.group(
    name="profile", cls=CommandGroup, context_settings={"help_option_names": ["--help"]},
    examples=(
        "mqttpub profile save prod -h broker.example.org --cafile ca.pem -q 1",
        "mqttpub profile show prod",
        "mqttpub pub --profile prod -t a -m hi",
    ),
)  # fmt: skip
def command() -> None:
    """Show and add named sets of flags in the configuration file.

    The file is ~/.config/mqttpub/config.toml, or in XDG_CONFIG_HOME. A table [profile.NAME]
    holds flags of commands that connect, by their long names; --profile NAME uses them.
    """


@command.command(name="list", cls=Command)
def list_profiles() -> int:
    """Print the names of the profiles."""
    from ...common.escape import escape
    from ..flags.profile import config_path, profiles

    for name in profiles(config_path()):
        click.echo(escape(name))
    return 0


@command.command(name="show", cls=Command)
@click.argument("name", type=PROFILE_NAME)
def show(name: str) -> int:
    """Print the flags that a profile sets, passwords masked."""
    from ..flags.profile import find, lines

    for line in lines(find(name)):
        click.echo(line)
    return 0


@command.command(name="import", cls=Command, examples=("mqttpub profile import prod mosquitto_pub",))
@click.argument("name", type=PROFILE_NAME)
@click.argument("client", type=click.Choice(CLIENTS))
@click.argument("path", required=False, type=click.Path())
def import_profile(name: str, client: str, path: str | None) -> int:
    """Make a profile of the options file of another client.

    Without PATH it is the file that the client reads itself, such as ~/.config/mosquitto_pub.
    """
    from ..compat.imported import imported
    from ..flags.profile import add
    from ..notes import note

    flags, unknown = imported(client, path)
    if unknown:
        note(f"left out, because no flag corresponds: {', '.join(unknown)}")
    click.echo(f"added profile {name} to {add(name, flags)}")
    return 0


@command.command(
    name="save", cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    examples=("mqttpub profile save prod -h broker.example.org --cafile ca.pem",),
)  # fmt: skip
@click.argument("name", type=PROFILE_NAME)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def save(name: str, flags: tuple[str, ...]) -> int:
    """Make a profile of flags of `pub`.

    They are checked when the profile is used.
    """
    from ..flags.profile import add

    click.echo(f"added profile {name} to {add(name, _table(list(flags)))}")
    return 0


def _table(words: list[str]) -> dict[str, Any]:
    """Return the flags of a line as a profile has them; raises UsageError for a line that `pub` does not understand."""
    from ..flags.payload import PayloadFlag
    from ..flags.properties_argument import JOINT, joined
    from ..registry import load

    pub = load("pub")
    try:
        given, rest, _ = pub.make_parser(click.Context(pub, info_name="pub")).parse_args(joined(words, pub))
    except click.UsageError as error:
        raise click.UsageError(error.message) from None
    if rest:
        raise click.UsageError("only flags can be saved, and a value with blanks needs quotes")
    flags = {param.name: param for param in pub.params if isinstance(param, Flag)}
    one = {key: flag.only(given[key]) for key, flag in flags.items() if isinstance(flag, PayloadFlag) and key in given}
    return {flags[key].long.lstrip("-"): _value(value, JOINT) for key, value in (given | one).items() if key in flags}


def _value(value: Any, joint: str) -> Any:
    """Return a value as TOML has it: the words of -D as an array."""
    if isinstance(value, list):
        return [_value(each, joint) for each in value]
    if isinstance(value, str) and joint in value:
        return value.split(joint)
    return value if isinstance(value, (str, bool, int)) else str(value)
