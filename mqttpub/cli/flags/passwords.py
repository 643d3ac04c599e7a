"""The password: its sources, and a warning if other users can see it.

The warning is for people, so a run without a terminal, such as one that cron starts, gets none.
"""

import os
import sys

import click
from click.core import ParameterSource

from ...common.files import base_directory
from ...common.system import terminal_session

SEEN = "mqttpub.seen"
"""Key in `Context.meta` for the secrets given as arguments."""
LONGEST = 65_535
"""Maximum length of a password in CONNECT, in bytes (5.0: 3.1.3.6)."""
MOST_SESSIONS = 1000
"""Maximum number of terminal sessions remembered."""


def note_secret(ctx: click.Context, name: str, noun: str) -> None:
    """Record that a parameter holds a secret, to warn about if it was given as an argument."""
    if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        ctx.meta.setdefault(SEEN, {})[noun] = True


def warn(ctx: click.Context) -> None:
    """Warn at a terminal that arguments hold secrets, once for each terminal session."""
    nouns = ctx.meta.get(SEEN)
    if nouns and not ctx.params.get("quiet") and sys.stderr.isatty() and _is_new_here():
        click.echo(f"mqttpub: {' and '.join(nouns)} among the arguments can be seen by other users", err=True)


def _is_new_here() -> bool:
    """Record the warning for this terminal session; return whether it was not shown before.

    If that cannot be recorded, each time counts as the first.
    """
    base = base_directory("XDG_STATE_HOME", ".local/state")
    folder = os.path.join(base_directory("XDG_RUNTIME_DIR", base), "mqttpub")
    session = _session()
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with open(os.path.join(folder, "warned"), "a+", errors="replace") as file:
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
    """Return an identifier of the terminal session: its leading process and, where known, when that started."""
    leader = terminal_session()
    try:
        with open(f"/proc/{leader}/stat") as file:
            # The program name is in parentheses and may contain blanks; field 22 is the start time (proc(5)).
            return f"{leader} {file.read().rpartition(')')[2].split()[22 - 3]}"
    except OSError:
        return str(leader)


def take(ctx: click.Context) -> None:
    """Set `password` from --password-file or --ask-password."""
    if path := ctx.params.get("password_file"):
        ctx.params["password"] = first_line(path, "--password-file")
    elif ctx.params.get("ask_password"):
        ctx.params["password"] = _asked()


def first_line(path: str, flag: str) -> bytes:
    """Return the first line of a file that a flag names, including blanks; raises BadParameter."""
    try:
        with open(path, "rb") as file:
            line = file.readline(LONGEST + 3).rstrip(b"\r\n")
    except OSError as error:
        raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint=flag) from None
    if len(line) > LONGEST:
        raise click.BadParameter(f"the first line of '{path}' is longer than {LONGEST} bytes", param_hint=flag)
    return line


def _asked() -> bytes:
    import getpass
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass("Password: ").encode("utf-8", "surrogateescape")
        except getpass.GetPassWarning:
            raise click.BadParameter(
                "there is no terminal to ask for a password on", param_hint="--ask-password"
            ) from None
        except (EOFError, KeyboardInterrupt):
            raise click.Abort from None
