"""The password: where it comes from, and a warning where others can see it.

The warning is for people, so a script without a terminal, such as one that cron starts, gets none.
"""

import os
import sys

import click
from click.core import ParameterSource

SEEN = "mqttpub.seen"
"""Where a context keeps what stood among the arguments and is secret."""
LONGEST = 65_535
"""Bytes that a password can have in CONNECT."""
MOST_SESSIONS = 1000
"""Sessions of terminals that are remembered."""


def seen(ctx: click.Context, name: str, noun: str) -> None:
    """Note that the value of a parameter is a secret, to be warned about if it is an argument."""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        ctx.meta.setdefault(SEEN, {})[noun] = True


def warn(ctx: click.Context) -> None:
    """Say that secrets stand among the arguments, at a terminal, unless it was said there before."""
    nouns = ctx.meta.get(SEEN)
    if nouns and not ctx.params.get("quiet") and sys.stderr.isatty() and _is_new_here():
        click.echo(f"mqttpub: {' and '.join(nouns)} among the arguments can be seen by other users", err=True)


def _is_new_here() -> bool:
    """Note that the warning was shown in this session of the terminal; return whether it was not before.

    Where that cannot be noted, each time is the first.
    """
    home = os.path.join(os.path.expanduser("~"), ".local", "state")
    folder = os.path.join(os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_STATE_HOME") or home, "mqttpub")
    session = _session()
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with open(os.path.join(folder, "warned"), "a+") as file:
            file.seek(0)
            known = file.read().splitlines()
            if session in known:
                return False
            if len(known) >= MOST_SESSIONS:
                file.truncate(0)
            file.write(f"{session}\n")
    except OSError:
        return True
    return True


def _session() -> str:
    """Return what tells the sessions of terminals apart: the leading process, and where it can be known its start."""
    leader = os.getsid(0)
    try:
        with open(f"/proc/{leader}/stat") as file:
            # The name of the program stands in parentheses and may hold blanks; 22 is the start (proc(5)).
            return f"{leader} {file.read().rpartition(')')[2].split()[22 - 3]}"
    except OSError:
        return str(leader)


def take(ctx: click.Context) -> None:
    """Put the password where --password would have put it."""
    if path := ctx.params.get("password_file"):
        ctx.params["password"] = first_line(path, "--password-file")
    elif ctx.params.get("ask_password"):
        ctx.params["password"] = _asked()


def first_line(path: str, flag: str) -> bytes:
    """Return the first line of a file that a flag names, blanks at its ends included; raises BadParameter."""
    try:
        with open(path, "rb") as file:
            line = file.readline(LONGEST + 3).rstrip(b"\r\n")
    except OSError as error:
        raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint=flag) from None
    if len(line) > LONGEST:
        raise click.BadParameter(f"the first line of '{path}' has more than {LONGEST} bytes", param_hint=flag)
    return line


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
