"""`--url`: broker, user and topic in one argument."""

from typing import Any

import click

from ...live.net.urls import HTTP, BrokerUrl, authority, broker_url, shown_path
from .base import Flag, origin, rank

INSTEAD = {"password": ("password", "password_file", "ask_password")}
"""For parts of the URL that several flags can set: those flags."""


class UrlType(click.ParamType[BrokerUrl]):
    """A URL of a broker."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> BrokerUrl:
        """Return the parts of the URL; a password in an argument is recorded for the warning."""
        from .passwords import note_secret

        if isinstance(value, BrokerUrl):
            return value
        try:
            url = broker_url(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if url.password is not None and ctx and param:
            note_secret(ctx, param.name, "a password")
        return url


URL = UrlType()


def masked_url(text: Any) -> str:
    """Return the URL of a broker or proxy with its password masked; a URL that cannot be parsed is masked entirely."""
    scheme, found, rest = str(text).partition("://")
    place, slash, path = rest.partition("/")
    try:
        authority(place)
    except ValueError:
        return f"{scheme}{found}{'*' * len(rest)}" if found else "*" * len(scheme)
    user, at, host = place.rpartition("@")
    name, colon, password = user.partition(":")
    shown = path if scheme.lower() not in HTTP else shown_path(path)
    return f"{scheme}{found}{name}{colon}{'*' * len(password)}{at}{host}{slash}{shown}"


def apply(ctx: click.Context) -> None:
    """Set the flags that the URL gives, unless their own source has a higher precedence.

    Each part is checked by the type of its flag.
    """
    url: BrokerUrl | None = ctx.params.get("url")
    if url is None:
        return
    flags = {param.name: param for param in ctx.command.params}
    if url.protocol != "mqtt" and "protocol" not in flags:
        raise click.BadParameter(f"{url.protocol} is not supported", ctx, flags["url"])
    source = ctx.get_parameter_source("url")
    assert source
    for name, value in url._asdict().items():
        if (value is None and name != "port") or name not in flags or _overridden(ctx, name):
            continue
        if value is not None:
            value = _checked(ctx, flags[name], value)
        ctx.params[name] = (value,) if flags[name].multiple else value
        ctx.set_parameter_source(name, source)


def _checked(ctx: click.Context, flag: click.Parameter, value: Any) -> Any:
    """Return a part converted by the type of its flag; raises BadParameter naming where the URL came from."""
    try:
        return flag.type.convert(value, flag, ctx)
    except click.BadParameter as error:
        error.param = url = next(param for param in ctx.command.params if param.name == "url")
        error.param_hint = origin(ctx, url) if isinstance(url, Flag) else None
        raise


def _overridden(ctx: click.Context, name: str) -> bool:
    return any(rank(ctx, each) >= rank(ctx, "url") for each in INSTEAD.get(name, (name,)))
