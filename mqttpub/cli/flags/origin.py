"""Where the value of a flag came from: the command line, the environment or a profile."""

from collections.abc import Iterable
from typing import NamedTuple

import click
from click.core import ParameterSource

from .base import Flag

RANKS = {
    ParameterSource.DEFAULT: 0,
    ParameterSource.DEFAULT_MAP: 1,
    ParameterSource.ENVIRONMENT: 2,
    ParameterSource.PROMPT: 3,
    ParameterSource.COMMANDLINE: 3,
}
"""What overrides what: the higher the lower."""
PROFILE = "mqttpub.profile"
"""Where a context keeps its Profile."""


class Profile(NamedTuple):
    """A named set of values in the configuration file."""

    path: str
    name: str
    keys: dict[str, str]
    """Name of each parameter that it sets, and the key that says so."""


def rank(ctx: click.Context, name: str) -> int:
    """Return how strong the source of a parameter is; 0 is its default."""
    return RANKS[ctx.get_parameter_source(name) or ParameterSource.DEFAULT]


def origin(ctx: click.Context, flag: Flag) -> str | None:
    """Return the words for a value that is not from the command line."""
    source = ctx.get_parameter_source(flag.name)
    if source is ParameterSource.ENVIRONMENT:
        return flag.variable
    profile: Profile | None = ctx.meta.get(PROFILE)
    if source is ParameterSource.DEFAULT_MAP and profile:
        return f"{profile.path}: profile {profile.name}: {profile.keys.get(flag.name, flag.long)}"
    return None


def settle(ctx: click.Context, what: str, names: Iterable[str]) -> None:
    """Leave the one value with the strongest source, of flags for the same thing; raises UsageError for two."""
    flags = {param.name: param for param in ctx.command.params if isinstance(param, Flag)}
    given = [name for name in names if ctx.params.get(name) not in (None, False, ()) and rank(ctx, name)]
    highest = max((rank(ctx, name) for name in given), default=0)
    strongest = [name for name in given if rank(ctx, name) == highest]
    if strongest[1:]:
        called = " and ".join(flags[name].shown()[0] for name in strongest)
        raise click.UsageError(f"only one {what} at a time, but {called} were given", ctx)
    for name in given:
        if name not in strongest:
            ctx.params[name] = False if flags[name].is_flag else None
