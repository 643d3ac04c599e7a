"""The password: where it comes from, and a warning where others can see it."""

import click
from click.core import ParameterSource

SEEN = "mqttpub.seen"
"""Where a context keeps what stood among the arguments and is secret."""


def seen(ctx: click.Context, name: str, noun: str) -> None:
    """Note that the value of a parameter is a secret, to be warned about if it is an argument."""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        ctx.meta.setdefault(SEEN, {})[noun] = True


def warn(ctx: click.Context) -> None:
    """Say once that secrets stand among the arguments."""
    nouns = ctx.meta.get(SEEN)
    if nouns and not ctx.params.get("quiet"):
        click.echo(f"mqttpub: {' and '.join(nouns)} among the arguments can be seen by other users", err=True)


def take(ctx: click.Context) -> None:
    """Put the password where --password would have put it."""
    if path := ctx.params.get("password_file"):
        ctx.params["password"] = _first_line(path)
    elif ctx.params.get("ask_password"):
        ctx.params["password"] = _asked()


def _first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.readline().rstrip(b"\r\n")
    except OSError as error:
        raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint="--password-file") from None


def _asked() -> bytes:
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass("Password: ").encode("utf-8", "surrogateescape")
        except getpass.GetPassWarning:
            raise click.BadParameter("there is no terminal to ask on", param_hint="--ask-password") from None
        except (EOFError, KeyboardInterrupt):
            raise click.Abort from None
