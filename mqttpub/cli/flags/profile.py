"""Named sets of flags in the configuration file."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import click

from ...common.files import base_directory, owners
from ...live.net.urls import shown_path
from .base import PROFILE, Flag, Profile, flag

DEFAULT = "default"
"""The profile used if --profile is not given."""


def config_path() -> str:
    """Return the path of the configuration file, which need not exist."""
    return os.path.join(base_directory("XDG_CONFIG_HOME", ".config"), "mqttpub", "config.toml")


def profiles(path: str) -> dict[str, dict[str, Any]]:
    """Return the profiles of a configuration file by name; raises UsageError if it is not one."""
    import tomllib

    try:
        with open(path, "rb") as file:
            config = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"cannot read '{path}': {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{path}: {error}") from None
    except RecursionError:
        raise click.UsageError(f"{path}: its values are nested too deeply") from None
    tables = config.pop("profile", {})
    odd = [*config, *(name for name, table in _pairs(tables) if not isinstance(table, dict))]
    if odd:
        raise click.UsageError(f"{path}: '{odd[0]}' is not a table [profile.NAME]")
    return dict(tables)


def _pairs(tables: Any) -> Iterator[tuple[str, Any]]:
    yield from tables.items() if isinstance(tables, dict) else [("profile", tables)]


def find(name: str) -> dict[str, Any]:
    """Return the profile of that name; raises UsageError."""
    path = config_path()
    known = profiles(path)
    if name not in known:
        raise click.UsageError(f"{path}: there is no profile '{name}'")
    return known[name]


def defaults(command: click.Command, profile: Profile, table: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a profile by parameter name; raises UsageError for an unknown key."""
    flags = by_key(command)
    values: dict[str, Any] = {}
    for key, value in table.items():
        found = flags.get(key.replace("_", "-"))
        if found is None:
            if not _belongs_elsewhere(key):
                raise click.UsageError(f"{profile.path}: profile {profile.name}: there is no flag '{key}'")
            continue
        param, negative = found
        try:
            values[param.name] = _value(param, value, negative)
        except ValueError as error:
            raise click.UsageError(f"{profile.path}: profile {profile.name}: {key}: {error}") from None
        profile.keys[param.name] = key
    return values


def by_key(command: click.Command) -> dict[str, tuple[Flag, bool]]:
    """Return the flags of a command by long name, each with whether the name turns the flag off."""
    flags = [param for param in command.params if isinstance(param, Flag)]
    names = [(name, param, name in param.secondary_opts) for param in flags for name in _every(param)]
    return {name.removeprefix("--"): (param, negative) for name, param, negative in names if name.startswith("--")}


def _every(param: click.Option) -> list[str]:
    return [*param.opts, *param.secondary_opts]


# TOML values

NAMES = {dict: "a table", list: "an array", bool: "a boolean"}
"""Names of TOML types for messages; the others are dates and times."""


def _value(param: Flag, value: Any, negative: bool) -> Any:
    """Return a TOML value as it would stand on the command line: text or a list; raises ValueError."""
    if param.is_flag:
        if not isinstance(value, (bool, str)):
            raise ValueError(f"expects true or false, not {_named(value)}")
        return not value if negative and isinstance(value, bool) else value
    if param.optional and value is True:
        return param.flag_value
    if isinstance(value, dict) and _takes_pairs(param):
        return [[name, _text(each)] for name, each in value.items()]
    if not param.multiple:
        return _text(value)
    return [_words(param, each) for each in (value if isinstance(value, list) else [value])]


def _words(param: Flag, value: Any) -> Any:
    """Return one value of a repeatable flag: text or, for some flags, an array with its words."""
    from .properties_argument import SettingType

    if isinstance(value, list) and (_takes_pairs(param) or isinstance(param.type, SettingType)):
        return [_text(each) for each in value]
    return _text(value)


def _takes_pairs(param: Flag) -> bool:
    from .transport import HeaderType
    from .types import PairType

    return param.multiple and isinstance(param.type, (HeaderType, PairType))


def _text(value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError(f"expects text or a number, not {_named(value)}")


def _named(value: Any) -> str:
    return NAMES.get(type(value), "a number" if isinstance(value, (int, float)) else "a date or a time")


def _belongs_elsewhere(key: str) -> bool:
    """Whether a key is a flag of another command that connects."""
    return any(key.replace("_", "-") in by_key(each) for each in _connecting())


def _connecting() -> Iterator[click.Command]:
    """Yield the commands that read profiles."""
    from ..registry import COMMANDS, load
    from .client import ClientCommand

    yield from (command for command in map(load, COMMANDS) if isinstance(command, ClientCommand))


def take(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """Use the profile as the defaults of the command."""
    path = config_path()
    if ctx.resilient_parsing or (name is None and not os.path.isfile(path)):
        return name
    table = profiles(path).get(DEFAULT, {}) if name is None else find(name)
    profile = Profile(path, name or DEFAULT, {})
    ctx.default_map = defaults(ctx.command, profile, table)
    ctx.meta[PROFILE] = profile
    return name


class ProfileType(click.ParamType[str]):
    """The name of a profile."""

    name = "name"
    listing = "profile list"
    """Arguments with which the program prints the values that completion offers."""


PROFILE_NAME = ProfileType()
profile_flag = flag(
    "--profile", is_eager=True, expose_value=False, callback=take, metavar="NAME", type=PROFILE_NAME,
    help="Use the flags in [profile.NAME] of ~/.config/mqttpub/config.toml. [default: default, if present]",
)  # fmt: skip


# the output of `profile show`


def lines(table: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each flag that a profile sets; values that are or may be secrets are masked."""
    flags = {key: found for command in _connecting() for key, found in by_key(command).items()}
    for key, value in table.items():
        found = flags.get(key.replace("_", "-"))
        yield f"{key} = {_masked(*found, value) if found else UNKNOWN}"


UNKNOWN = '"***" (unknown flag)'
"""Shown for the value of an unknown key: it may be a misspelt secret."""


def _masked(param: Flag, negative: bool, value: Any) -> str:
    try:
        given = _value(param, value, negative)
    except ValueError as error:
        return f'"***" ({error})'
    mask = _mask(param)
    if mask is None:
        return _shown(value)
    if not isinstance(given, list):
        return _shown(mask(given))
    shown = [mask(each) for each in given]
    if isinstance(value, dict):
        return _shown(dict(shown))
    return _shown(shown if isinstance(value, list) else shown[0])


def _shown(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def _mask(param: Flag) -> Callable[[Any], Any] | None:
    """Return the function that masks secrets in a value of a flag, None if it holds none."""
    from .properties_argument import SettingType, masked_setting
    from .transport import HeaderType, PathType, ProxyType, masked_header
    from .types import SecretType
    from .url import UrlType, masked_url

    masks: dict[type, Callable[[Any], Any]] = {
        SecretType: lambda text: "*" * len(text), UrlType: masked_url, ProxyType: masked_url,
        HeaderType: masked_header, SettingType: masked_setting, PathType: shown_path,
    }  # fmt: skip
    return masks.get(type(param.type))


# profiles that are added


def add(name: str, table: dict[str, Any]) -> str:
    """Add a profile to the configuration file, and return the path of the file; raises UsageError if it exists.

    A new file can be read by its owner only, because a profile may hold a password.
    """
    path = config_path()
    if os.path.isfile(path) and name in profiles(path):
        raise click.UsageError(f"{path}: there is a profile '{name}' already")
    rows = [f"{key} = {_toml(value)}" for key, value in table.items()]
    head = f"[profile.{_toml(name)}]"
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8", opener=owners) as file:
            file.write("\n".join([*([""] if file.tell() else []), head, *rows, ""]))
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or "a value is not UTF-8"
        raise click.UsageError(f"cannot write '{path}': {reason}") from None
    return path


def _toml(value: Any) -> str:
    import json

    # A string of JSON is one of TOML, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
