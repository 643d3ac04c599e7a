"""What `decode --parquet` and `decode --arrow` do: the table `packets` of captures, on one machine."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

import click

from ...capture.types import BadCapture
from ...common.files import ARROW, PARQUET, check_place, replacing
from ...reading.input import AnyInput, Input
from ...view.terminal.reading_bar import ReadingBar
from ...wire.types import readable
from ..notes import note

BEYOND = ("summary", "flows", "stats", "ladder", "svg", "mermaid", "html", "pdml", "tshark_json", "filter", "follow",
          "keylog", "max_connections", "as_json")  # fmt: skip
"""Parameters that a table does not know."""


def table(given: dict[str, Any], inputs: list[AnyInput], stack: ExitStack) -> int:
    """Write the table and return the exit status; raises UsageError."""
    flag = "--parquet" if given["parquet"] is not None else "--arrow"
    for name in BEYOND:
        if given[name]:
            raise click.UsageError(f"{flag} writes all packets as rows; --{_flag(name)} does not go with it")
    if not (find_spec("numpy") and find_spec("pyarrow")):
        raise click.UsageError(f"{flag} needs numpy and pyarrow: pip install 'mqttpub[columns]'")
    if given["parquet"] is not None and given["arrow"] is not None:
        raise click.UsageError("--parquet and --arrow are different files; give one of them")
    write = _writer(given, inputs, stack)
    rows = 0
    faults: list[str] = []
    bar = ReadingBar(inputs, beside=given["parquet"] is not None or given["arrow"] != "-")
    stack.callback(bar.close)
    for batch in _batches(given, inputs, faults.append, bar):
        rows += batch.num_rows
        write(batch)
    bar.close()
    for fault in faults[:-1]:
        note(fault)
    if not rows and not faults:
        raise click.UsageError("no MQTT packet was found")
    if faults:
        # What was read stays written; the status tells that it is not all.
        stack.close()
        raise click.UsageError(faults[-1])
    return 0


def _flag(name: str) -> str:
    return {"keylog": "key-log", "as_json": "json"}.get(name, name.replace("_", "-"))


def _batches(
    given: dict[str, Any], inputs: list[AnyInput], fault: Callable[[str], None], bar: ReadingBar
) -> Iterator[Any]:
    from ...columns.decode.context import Memory
    from ...columns.decode.decode import decode_coded
    from ...columns.read import finish, read
    from ...columns.reassemble.state import State

    state, memory = State(ports=given["port"], version=given["mqtt_version"]), Memory()
    name = ""
    for each in inputs:
        name = readable(os.path.basename(each.name))
        if not isinstance(each, Input) or not each.is_capture:
            raise click.UsageError(f"{each.name} is no capture; --parquet and --arrow read pcap and pcapng")
        try:
            for batch in read([each.file], state=state):
                yield decode_coded(batch, capture=name, keys=batch.keys, memory=memory)
                bar.at(each)
            if said := state.left_out():
                note(f"{each.name}: {said}")
        except BadCapture as error:
            fault(f"{each.name}: offset {error.offset}: {error.message}")
    last = finish(state)
    yield decode_coded(last, capture=name, keys=last.keys, memory=memory)


def _writer(given: dict[str, Any], inputs: list[AnyInput], stack: ExitStack) -> Callable[[Any], Any]:
    from ...columns.files import arrow, parquet

    if given["parquet"] is not None:
        flag, path, form, kind = "--parquet", given["parquet"], parquet, PARQUET
    else:
        flag, path, form, kind = "--arrow", given["arrow"], arrow, ARROW
    check_place(flag, path, kind, [each.id for each in inputs])
    if path == "-" and sys.stdout.isatty():
        raise click.UsageError("a table is not for a terminal; name a file")
    return stack.enter_context(form(stack.enter_context(replacing(path, binary=True))))
