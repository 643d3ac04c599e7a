"""Named sets of flags in the configuration file."""

import os
from collections.abc import Iterator
from typing import Any

import click

from .flags import Flag, flag
from .sources import PROFILE, Profile

DEFAULT = "default"
"""The profile that is used when none is named."""


def config_path() -> str:
    """Return where the configuration file is, or would be."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "mqttpub", "config.toml")


def profiles(path: str) -> dict[str, dict[str, Any]]:
    """Return the profiles of a configuration file by name; raises UsageError for what is not one."""
    import tomllib

    try:
        with open(path, "rb") as file:
            config = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: {error}") from None
    tables = config.pop("profile", {})
    odd = [*config, *(name for name, table in _pairs(tables) if not isinstance(table, dict))]
    if odd:
        raise click.UsageError(f"{path}: '{odd[0]}' is no table [profile.NAME]")
    return dict(tables)


def _pairs(tables: Any) -> Iterator[tuple[str, Any]]:
    yield from tables.items() if isinstance(tables, dict) else [("profile", tables)]


def find(name: str) -> dict[str, Any]:
    """Return the profile of that name; raises UsageError."""
    path = config_path()
    known = profiles(path)
    if name not in known:
        raise click.UsageError(f"{path}: no profile is called '{name}'")
    return known[name]


def defaults(command: click.Command, profile: Profile, table: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a profile by the names of their parameters; raises UsageError for an unknown key."""
    flags = by_key(command)
    values: dict[str, Any] = {}
    for key, value in table.items():
        found = flags.get(key.replace("_", "-"))
        if found is None:
            if not _belongs_elsewhere(key):
                raise click.UsageError(f"{profile.path}: profile {profile.name}: no flag is called '{key}'")
            continue
        param, negative = found
        values[param.name] = _value(param, value, negative)
        profile.keys[param.name] = key
    return values


def by_key(command: click.Command) -> dict[str, tuple[Flag, bool]]:
    """Return the flags of a command by their long names; True marks a name that turns off."""
    flags = [param for param in command.params if isinstance(param, Flag)]
    names = [(name, param, name in param.secondary_opts) for param in flags for name in _every(param)]
    return {name.removeprefix("--"): (param, negative) for name, param, negative in names if name.startswith("--")}


def _every(param: click.Option) -> list[str]:
    return [*param.opts, *param.secondary_opts]


def _value(param: Flag, value: Any, negative: bool) -> Any:
    """Return a value of TOML as the option takes it: text, or a list of texts."""
    if param.is_flag:
        return not value if negative and isinstance(value, bool) else value
    if isinstance(value, dict):
        return tuple((name, str(each)) for name, each in value.items())
    if param.multiple:
        return [each if isinstance(each, list) else str(each) for each in _listed(value)]
    return str(value)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _belongs_elsewhere(key: str) -> bool:
    """Whether a key is a flag of another command that connects."""
    from .client import Client
    from .main import COMMANDS, program

    commands = (program.get_command(click.Context(program), name) for name in COMMANDS)
    return any(isinstance(each, Client) and key.replace("_", "-") in by_key(each) for each in commands)


def take(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Let the profile say the defaults of the command."""
    path = config_path()
    if ctx.resilient_parsing or (name is None and not os.path.isfile(path)):
        return name
    table = profiles(path).get(DEFAULT, {}) if name is None else find(name)
    profile = Profile(path, name or DEFAULT, {})
    ctx.default_map = defaults(ctx.command, profile, table)
    ctx.meta[PROFILE] = profile
    return name


profile_flag = flag(
    "--profile", is_eager=True, expose_value=False, callback=take, metavar="NAME",
    help="Take flags from [profile.NAME] of ~/.config/mqttpub/config.toml. [default: default, if it is there]",
)  # fmt: skip


# what `profile show` prints


def lines(table: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each flag that a profile sets, secrets masked."""
    from .pub import command

    flags = by_key(command)
    for key, value in table.items():
        param, _ = flags.get(key.replace("_", "-"), (None, False))
        yield f"{key} = {_shown(_masked(param, value))}"


def _shown(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def _masked(param: Flag | None, value: Any) -> Any:
    from .properties_argument import SettingType, masked_setting
    from .transport_flags import HeaderType, ProxyType, masked_header
    from .url import masked_url
    from .value_types import SecretType, UrlType

    for kind, mask in (
        (SecretType, _stars), (UrlType, masked_url), (ProxyType, masked_url), (HeaderType, masked_header),
        (SettingType, masked_setting),
    ):  # fmt: skip
        if param and isinstance(param.type, kind):
            return [mask(each) for each in value] if param.multiple and isinstance(value, list) else mask(value)
    return value


def _stars(value: Any) -> str:
    return "*" * len(str(value))
