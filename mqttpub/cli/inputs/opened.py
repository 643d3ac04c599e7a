"""The inputs that the flags and arguments of `decode` and `lint` name, opened."""

import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack

import click

from ...common.files import check_standard_output
from ...common.standard_input import is_interactive, is_pipe
from ...payload.bytes_argument import octets
from ...reading.input import AnyInput, Input, InputOptions, open_inputs
from ..flags.reading import InputRequest
from ..notes import note
from ..screen import paged


def inputs_of(request: InputRequest, stack: ExitStack, verb: str) -> list[AnyInput]:
    """Open what `-f` and the arguments name, or standard input if they name nothing; `verb` is for messages.

    Until the stack closes, the first SIGINT lets a pipe be read to its end, and a second one ends the program.
    Raises UsageError and UserError for nothing to read, for what cannot be read, and where standard output goes to
    an input.
    """
    if request.uses_standard_input and not request.files and is_interactive():
        raise click.UsageError(f"nothing to {verb}: give hex, a file, or standard input")
    if is_pipe() and ("-" in request.words or request.uses_standard_input):
        from ..signals import first_calls

        # Ctrl-C ends the program at the other end too, and what that has written until then is read.
        stack.enter_context(first_calls(lambda number: None, signal.SIGINT))
    inputs = list(open_inputs(request.files, request.words, stack, octets))
    check_standard_output(each.id for each in inputs)
    flags = request.capture_flags
    if flags and not any(each.is_capture for each in inputs):
        note(f"{' and '.join(flags)} {'apply' if flags[1:] else 'applies'} to captures; no input is one")
    return inputs


def use_pager(request: InputRequest, stack: ExitStack) -> None:
    """Show output through the pager until the stack closes.

    Not while standard input is read: packets that are still coming are shown at once.
    """
    if not request.uses_standard_input:
        stack.enter_context(paged())


WORTH_BYTES = 1 << 19
"""Bytes of captures from which drawing them from columns saves more than the import of numpy takes: 0.07 s."""
DRAWING_SHARE = 2
"""How many times as many bytes it takes where next to nothing is drawn of most packets."""
WORTH_SAYING_BYTES = 16 << 20
"""Bytes of captures from which people wait for seconds without columns."""


def worth_columns(inputs: Sequence[AnyInput], options: InputOptions, *, drawn: bool = True) -> list[Input]:
    """Return the inputs if all are captures that are quicker read in columns, and can be; else nothing.

    `drawn` says whether every packet is drawn. The inputs must be files, as a pipe is shown as it comes; keys for TLS
    are for the other reader.
    """
    files = _in_columns(inputs, options, WORTH_BYTES if drawn else WORTH_BYTES * DRAWING_SHARE)
    if not files:
        return []
    try:
        from ...columns import arrays  # noqa: F401  needs numpy
    except ImportError:
        # It is not installed, or cannot be used here; nothing needs it.
        return []
    return files


def suggest_columns(inputs: Sequence[AnyInput], options: InputOptions) -> None:
    """Say on a terminal that captures as large as these would be read much quicker with numpy, if it is missing."""
    if not sys.stderr.isatty() or not _in_columns(inputs, options, WORTH_SAYING_BYTES):
        return
    from ...common.extras import installing, missing

    if missing("numpy"):
        note(f"captures of this size are read 2 to 6 times as fast with numpy: {installing('columns')}")


def _in_columns(inputs: Sequence[AnyInput], options: InputOptions, least: int) -> list[Input]:
    """Return the inputs if all can be read in columns, and they have at least so many bytes; else nothing."""
    files = [each for each in inputs if isinstance(each, Input) and each.size and each.is_capture]
    is_less = len(files) < len(inputs) or sum(each.size for each in files) < least
    return [] if is_less or options.keylog else files
