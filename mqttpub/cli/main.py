"""The program: subcommands loaded on use, every failure one line and an exit status."""

import errno
import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

from ..common.errors import UserError
from .flags.base import CommandGroup, PlainOption
from .registry import COMMANDS, PERSONALITIES, add_screen_flags, load

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of an output that is full or fails."""


class Program(CommandGroup):
    """A group that imports a subcommand only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        return load(cmd_name) if cmd_name in COMMANDS or cmd_name in PERSONALITIES else None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; raises UsageError for a UserError of the rooms below, which know nothing of click."""
        try:
            return super().invoke(ctx)
        except UserError as error:
            name = ctx.invoked_subcommand or ""
            command = self.get_command(ctx, name) or self
            raise click.UsageError(str(error), click.Context(command, parent=ctx, info_name=name)) from None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the flags of the program itself."""
        add_screen_flags(self)
        return super().get_params(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
        with formatter.section("Other clients, also by a link with their name"):
            formatter.write_dl(list(PERSONALITIES.items()))


@click.group(
    cls=Program, context_settings={"help_option_names": ["--help"]}, invoke_without_command=False, no_args_is_help=True
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    cls=PlainOption,
    callback=lambda *given: _version(*given),
    help="Show the version, that of Python, the platform and the extras, and exit.",
)
def program() -> None:
    """Publish MQTT messages and read every byte that goes over the wire."""


def _version(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if not is_asked or ctx.resilient_parsing:
        return
    from sysconfig import get_platform

    from .. import __version__
    from ..common.extras import EXTRAS, complete

    found = complete()
    rest = [extra for extra, packages in EXTRAS.items() if packages and extra not in found]
    click.echo(f"mqttpub {__version__}")
    click.echo(f"Python {'.'.join(map(str, sys.version_info[:3]))} on {get_platform()}")
    click.echo(f"extras: {', '.join(found) or 'none'}")
    if rest:
        click.echo(f"extras that are not complete: {', '.join(rest)}")
    ctx.exit()


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit status; errors are one line on stderr."""
    try:
        result = program.main(_named(arguments), prog_name="mqttpub", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _complain(_sentence(error), error.exit_code, getattr(error, "ctx", None))
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _interrupted()
    except (BrokenPipeError, SystemExit):
        # click exits by itself when a pipe closes early.
        return 141
    except OSError as error:
        if not _is_of_output(error):
            raise
        return _unwritten(error)
    except Exception as error:
        status = getattr(error, "status", None)
        if status is None:
            raise
        return _complain(str(error), int(status))
    return result if isinstance(result, int) else 0


def _named(arguments: list[str] | None) -> list[str] | None:
    """Return the arguments after the name of a client under whose name the program was started."""
    name = os.path.basename(sys.argv[0]) if arguments is None else ""
    return [name, *sys.argv[1:]] if name in PERSONALITIES else arguments


def _sentence(error: click.ClickException) -> str:
    """Return a message that begins with the flag it is about, by the name that help shows."""
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        name = getattr(error.param, "long", "") or (error.param.human_readable_name if error.param else "")
        place = error.param_hint or name
        return f"{place}: {error.message}" if place else error.message
    from .suggestions import sentence

    return sentence(error) or error.format_message()


def _complain(message: str, status: int, ctx: click.Context | None = None) -> int:
    from ..common.escape import escape

    where = ctx.command_path if ctx else "mqttpub"
    # If standard error cannot be written either, only the exit status is left.
    with suppress(OSError):
        click.echo(f"{where}: {escape(' '.join(message.split()))}", err=True)
    return status


def _interrupted() -> int:
    from . import signals

    return _complain(signals.word(), signals.status())


def _unwritten(error: OSError) -> int:
    from ..live.failures import Exit
    from .signals import Received

    if Received.first:
        # A terminal that hung up accepts no output, but that is not what ended the program.
        _silence_stdout()
        return _interrupted()
    reason = "standard output is closed" if error.errno == errno.EBADF else error.strerror
    _silence_stdout()
    return _complain(f"the output cannot be written: {reason}", Exit.NOT_WRITTEN)


def _is_of_output(error: OSError) -> bool:
    """Whether an error can only come from an output: it is full, or standard output is not writable."""
    if error.errno != errno.EBADF:
        return error.errno in FULL
    from ..common.system import is_read_only

    return is_read_only(STDOUT)


def _silence_stdout() -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


STDOUT = 1
CLOSED = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
"""How /dev/null is opened for a closed stream: reading input and writing output fail, messages are lost."""


def _open_streams() -> None:
    """Open /dev/null for standard streams that were closed before the program started, which are None in Python.

    Otherwise the next file or socket would get the descriptor of a standard stream, and output could end up
    in it. Output that nobody can read must not count as written; a standard error that can only be read counts as
    closed.
    """
    from ..common.system import is_read_only

    for descriptor, (name, mode) in enumerate(CLOSED.items()):
        try:
            os.fstat(descriptor)
            if name == "stderr" and is_read_only(descriptor):
                os.close(descriptor)
                os.open(os.devnull, mode)
        except OSError:
            # open() returns the lowest free descriptor, which is this one.
            os.open(os.devnull, mode)
        if name != "stdin" and getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", closefd=False))  # noqa: SIM115


def run(arguments: Any = None) -> NoReturn:
    """Run the program as a process."""
    _open_streams()
    from .signals import catch

    catch()
    try:
        status = main(arguments)
        status = _flushed(status)
    except KeyboardInterrupt:
        # A signal came outside of the command: before it, while it ended, or while nobody read its output.
        status = _interrupted()
    with suppress(OSError):
        sys.stderr.flush()
    # Everything is closed and written. Shutting down the interpreter would only free memory that the system
    # reclaims anyway, and takes a seventh of a short run.
    os._exit(status)


def _flushed(status: int) -> int:
    """Write what is buffered, and return the exit status."""
    from .signals import unread_bytes

    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
        return status or 141
    except OSError as error:
        return _unwritten(error)
    if lost := unread_bytes():
        _complain(f"{lost:,} bytes of the output were not written", status)
    return status
