"""Templates of messages, which `pub`, `bench` and `request` fill anew for each one, as `--template` asks for."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import click

from ..common.errors import UserError
from ..common.standard_input import STANDARD_INPUT_NAME, standard_input
from ..live.net.target import Target
from ..payload.csv_rows import LONGEST_ROW_BYTES, CsvRows, checked, read_csv
from ..payload.template import Template, TemplateValues
from ..spec.declare import Property
from ..spec.packets import Publish
from ..spec.properties import USER_PROPERTY
from ..spec.versions import Version
from .flags.payload import STANDARD_INPUT
from .observe.gate import Warn, judge, warn

Convert = Callable[[bytes], bytes]
ANY_CELL = b"x"
"""A cell that a template is tried with before a row is read."""


class PublishTemplate:
    """A PUBLISH whose topic, payload and User Properties are templates; raises BadParameter, naming the flag."""

    def __init__(self, packet: Publish, values: TemplateValues, payload_flag: str) -> None:
        self._packet, self._values = packet, values
        self._topic = template(packet.topic, values, "--topic")
        self._payload = template(packet.payload, values, payload_flag)
        self._properties = [(each, _pair(each, values)) for each in packet.properties]
        self._has_fixed_head = self._topic.is_fixed and all(
            part.is_fixed for _, pair in self._properties for part in pair
        )  # fmt: skip
        if self._has_fixed_head:
            self._packet = self._head()

    def fill(self, number: int, row: Sequence[bytes] = ()) -> Publish:
        """Begin the message with a number and a row; return it, without its payload."""
        self._values.begin(number, time.time_ns(), row)
        return self._packet if self._has_fixed_head else self._head()

    def payload(self) -> bytes:
        """Return the payload of the message that was begun last."""
        return self._payload.fill()

    def filled(self, text: bytes) -> bytes:
        """Return a template of its own filled for the message that was begun last; raises ValueError."""
        return Template(text, self._values).fill()

    def check(
        self, version: Version, convert: Convert | None = None, *, force: bool | None, warn: Warn = warn
    ) -> None:  # fmt: skip
        """Judge a message as it may be, before anything is sent; raises UsageError."""
        columns = self._values.columns
        judge(self.fill(1, [ANY_CELL] * len(columns or ())), version, force=force, warn=warn)
        # A payload with cells cannot be tried without a row.
        if convert and columns is None:
            try:
                convert(self.payload())
            except ValueError as error:
                raise click.UsageError(str(error)) from None

    def _head(self) -> Publish:
        properties = tuple(
            Property(each.id, tuple(part.text() for part in pair)) if pair else each for each, pair in self._properties
        )
        return self._packet.replace(topic=self._topic.text(), properties=properties)


def values_of(target: Target, seed: int | str | None, columns: Sequence[str] | None = None) -> TemplateValues:
    """Return what the templates of a connection are filled with; `columns` are those of a CSV file, if any."""
    return TemplateValues(target.connect.client_id, target.connect.username, seed=seed, columns=columns)


def template(text: str | bytes, values: TemplateValues, flag: str) -> Template:
    """Return the template that a flag gives; raises BadParameter."""
    try:
        return Template(text, values)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=flag) from None


def _pair(each: Property, values: TemplateValues) -> list[Template]:
    """Return the templates of name and value of a User Property; none for another property."""
    return [template(part, values, "--user-property") for part in each.value] if each.id == USER_PROPERTY.id else []


def filled(
    template: PublishTemplate, rows: Iterable[Sequence[bytes]], convert: Convert | None,
    check: Callable[[Publish], None] | None = None,
) -> Iterator[tuple[Publish, bytes]]:  # fmt: skip
    """Yield for each row the PUBLISH that it makes and its payload; raises UserError for one that cannot be sent.

    `check` raises UsageError for a packet; it is called for each that differs from the one before.
    """
    checked = None
    for number, row in enumerate(rows, 1):
        packet = template.fill(number, row)
        payload = template.payload()
        try:
            if check and packet is not checked:
                check(packet)
                checked = packet
            made = packet, convert(payload) if convert else payload
        except (ValueError, click.UsageError) as error:
            raise UserError(f"message {number}: {getattr(error, 'message', error)}") from None
        yield made


# CSV files


class CsvStream(NamedTuple):
    """A CSV file, or standard input, whose header was read."""

    descriptor: int
    rows: CsvRows
    start: int
    """Bytes that were read."""
    name: str
    """What messages call it."""


def csv_stream(path: str, stack: ExitStack) -> CsvStream:
    """Open a CSV file that is read once, as it arrives, and read its header; raises BadParameter."""
    header = bytearray()
    name = STANDARD_INPUT_NAME if path == STANDARD_INPUT.decode() else f"'{path}'"
    try:
        if path == STANDARD_INPUT.decode():
            descriptor = standard_input().fileno()
        else:
            file = stack.enter_context(open(path, "rb", buffering=0))  # noqa: SIM115 - the stack closes it
            descriptor = file.fileno()
        # Byte by byte, so that what follows stays in the pipe for who waits for it there.
        while not header.endswith(b"\n") and len(header) < LONGEST_ROW_BYTES and (byte := os.read(descriptor, 1)):
            header += byte
        return CsvStream(descriptor, CsvRows(checked(bytes(header))), len(header), name)
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError as error:
        raise click.BadParameter(f"{name}, line 1: {error}", param_hint="--csv") from None


class CsvFile:
    """A CSV file that is read whole first, so that no row of it is wrong when its turn comes; raises UsageError."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            if not os.path.isfile(path) and os.path.exists(path):
                raise click.BadParameter(f"'{path}' is not a file, and is read more than once", param_hint="--csv")
            with open(path, "rb") as file:
                self.columns, rows = read_csv(file, path)
                self.count = sum(1 for _ in rows)
        except OSError as error:
            raise _unreadable(path, error) from None
        if not self.count:
            raise click.BadParameter(f"'{path}' has no rows", param_hint="--csv")

    def rows(self) -> Iterator[list[bytes]]:
        """Yield the rows; raises UserError if the file was changed and cannot be read any more."""
        try:
            with open(self.path, "rb") as file:
                yield from read_csv(file, self.path)[1]
        except OSError as error:
            raise UserError(_unreadable(self.path, error).message) from None

    def endless_rows(self) -> Iterator[list[bytes]]:
        """Yield the rows again and again; raises UserError as `rows`."""
        while True:
            row = None
            for row in self.rows():
                yield row
            if row is None:
                raise UserError(f"'{self.path}' has no rows any more")


def _unreadable(path: str, error: OSError) -> click.BadParameter:
    return click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint="--csv")
