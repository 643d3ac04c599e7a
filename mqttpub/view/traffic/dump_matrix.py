"""Dumps of packets of one size, drawn for many packets at a time.

The text of such packets is that of one of them but for the values of some fields. Here texts are rows of a matrix of
bytes, which begin as the text that packets have in common; the columns of a value are then filled for all of them.
Of 200,000 small packets, drawing takes a third of the time that it takes packet by packet (tests/benchmarks/views.py).
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...common.escape import ascii_column
from ...spec.versions import Direction, Version
from ..packet.field_plan import PLAIN, FieldPlan
from ..packet.field_stencil import HEX, SPACE, WORDS, ZERO, FieldStencil, without_last_spaces
from ..packet.plan import PlannedPacket, RepeatedDumps
from .run_batch import Texts

FEWEST = 4
"""Packets for which a form pays, at least."""
MOST_FORMS = 4
"""Forms that are made for packets of one size whose fields differ; the others are drawn one by one."""
_BYTES = bytes(range(256))
_CHARACTER = np.frombuffer(ascii_column(_BYTES).encode(), np.uint8)
_HEX = np.frombuffer((_BYTES.hex(" ") + " ").encode(), np.uint8).reshape(256, 3)
_IS_PLAIN = np.array([bool(PLAIN(bytes((byte,)))) or byte in b"[{" for byte in _BYTES], np.bool_)
_IS_DIGIT = np.array([chr(byte) in "0123456789" for byte in _BYTES], np.bool_)
_BEGINS_PLAIN = np.array([bool(PLAIN(bytes((byte,)))) and byte != SPACE for byte in _BYTES], np.bool_)
_GAP = "\0"
_QUOTE = '"'
_BETWEEN = '" = "'

Mask = NDArray[np.bool_]


class DrawnTexts(NamedTuple):
    """The texts of some packets."""

    rows: NDArray[np.int64]
    """Which packets they are."""
    heads: list[str]
    """Their headlines."""
    bodies: list[str]
    """What is below the line for time and place."""


class DumpMatrix:
    """Draws packets as `dumps` does without colours, many at a time."""

    def __init__(self, dumps: RepeatedDumps) -> None:
        self._dumps = dumps

    def draw(self, packets: Texts, version: Version, direction: Direction) -> Iterator[DrawnTexts]:
        """Yield the texts of packets without findings, whose Packet Identifiers have as many digits, if any.

        Packets that are not among these texts are to be drawn one by one.
        """
        left = np.arange(len(packets))
        for _ in range(MOST_FORMS):
            if len(left) < FEWEST:
                return
            some = packets if len(left) == len(packets) else packets[left]
            planned = self._dumps.planned(some[0].tobytes(), version, direction)
            if planned is None:
                return
            found = _Alike(planned, some)
            yield DrawnTexts(left[found.rows], *found.texts())
            left = np.delete(left, found.rows)


class _Opened(NamedTuple):
    """A field in whose values packets differ."""

    stencil: FieldStencil
    words: Texts
    """Of each packet, if its value is drawn with the stencil."""
    fits: Mask
    """Whether it is."""


class _Alike:
    """Those of some packets that have the same text as the first one but for some values."""

    def __init__(self, planned: PlannedPacket, packets: Texts) -> None:
        self._planned = planned
        self._data = packets[0].tobytes()
        fields = planned.plan.fields
        same = packets == packets[0]
        fits: Mask = same[:, _own(planned, self._data)].all(axis=1)
        if not fits.all():
            packets, same = packets[fits], same[fits]
        self.rows: NDArray[np.int64] = np.flatnonzero(fits)
        """Which packets they are."""
        differs = ~same.all(axis=0)
        opened: list[_Opened | None] = []
        fits = np.ones(len(packets), np.bool_)
        for field, (start, end) in zip(fields, pairwise(planned.places), strict=True):
            found = _opened(field, packets, start, end) if differs[start:end].any() else None
            opened.append(found)
            fits &= found.fits if found else same[:, start:end].all(axis=1)
        if not fits.all():
            self.rows, packets = self.rows[fits], packets[fits]
            opened = [each and each._replace(words=each.words[fits]) for each in opened]
        self._packets = packets
        self._opened = opened

    def texts(self) -> tuple[list[str], list[str]]:
        """Return their headlines, and what is below the line for time and place."""
        plan, places, (before, numbered, after), number = self._planned
        head, body = _Columns(), _Columns()
        head.add(before)
        if numbered:
            id = self._opened[plan.id_field]
            head.fill(id.words[:, : len(number)] if id else np.frombuffer(number.encode(), np.uint8)[None])
        head.add(after)
        self._add_fields(body, plan.fields, places)
        bodies = body.texts(len(self.rows))
        ends = [start + end for start, each in zip(places, self._opened) if each for end in each.stencil.ends]  # noqa: B905  places have one more
        if ends:
            for at in np.flatnonzero((self._packets[:, ends] == SPACE).any(axis=1)).tolist():
                bodies[at] = without_last_spaces(bodies[at])
        return head.texts(len(self.rows)), bodies

    def _add_fields(self, body: "_Columns", fields: Sequence[FieldPlan], places: Sequence[int]) -> None:
        packets = self._packets
        hex = _HEX[packets].reshape(len(packets), 3 * packets.shape[1])
        characters = _CHARACTER[packets]
        for field, start, end, opened in zip(fields, places, places[1:], self._opened, strict=False):
            if opened is None:
                body.add(field.rows(self._data, start, end))
                continue
            stencil, words, _ = opened
            first, *rest = (stencil.text % ((_GAP,) * len(stencil.gaps))).split(_GAP)
            body.add(first)
            for gap, text in zip(stencil.gaps, rest, strict=True):
                source, begin, stop = gap
                if source == WORDS:
                    body.fill(words[:, begin:stop])
                elif source == HEX:
                    body.fill(hex[:, 3 * (start + begin) : 3 * (start + stop) - 1])
                else:
                    body.fill(characters[:, start + begin : start + stop])
                body.add(text)


class _Columns:
    """Texts of one length, of which some columns differ."""

    def __init__(self) -> None:
        self._common = bytearray()
        self._filled: list[tuple[int, Texts]] = []

    def add(self, text: str) -> None:
        """Add text that is the same in all."""
        self._common += text.encode()

    def fill(self, columns: Texts) -> None:
        """Add columns, which have a row for each text."""
        self._filled.append((len(self._common), columns))
        self._common += bytes(columns.shape[1])

    def texts(self, count: int) -> list[str]:
        """Return the texts."""
        size = len(self._common)
        texts = np.empty((count, size), np.uint8)
        texts[:] = np.frombuffer(self._common, np.uint8)
        for at, columns in self._filled:
            texts[:, at : at + columns.shape[1]] = columns
        joined = texts.tobytes()
        if self._common.isascii():
            text = joined.decode("ascii")
            return [text[at : at + size] for at in range(0, len(text), size)]
        return [joined[at : at + size].decode() for at in range(0, len(joined), size)]


def _own(planned: PlannedPacket, data: bytes) -> Mask:
    """Return which bytes decide where the parts of fields are, not what they hold."""
    own = np.zeros(len(data), np.bool_)
    for field, (start, end) in zip(planned.plan.fields, pairwise(planned.places), strict=True):
        for place in field.own(data, start, end):
            own[place] = True
    return own


def _opened(field: FieldPlan, packets: Texts, start: int, end: int) -> _Opened | None:
    """Return a field that begins at `start`; None if all packets that are drawn together must have the same value."""
    data = packets[0].tobytes()
    found = field.words(data, start, end)
    if found is None:
        return None
    if stencil := field.json_stencil(data, start, end):
        return _Opened(stencil, packets[:, :0], _differ_in_digits(packets[:, start:end], stencil.leading))
    layout, first = found
    stencil = field.stencil(data, start, end, layout)
    if not stencil.text or not first.isascii():
        return None
    if places := field.quoted(data, start, end):
        return _Opened(stencil, *_quoted(packets, places, first))
    rows = packets.tobytes()
    all_words = [field.words(rows[at : at + len(data)], start, end) for at in range(0, len(rows), len(data))]
    shown = [each[1] if each and each[0] == layout and each[1].isascii() else None for each in all_words]
    words = np.frombuffer("".join([first if each is None else each for each in shown]).encode(), np.uint8)
    return _Opened(stencil, words.reshape(len(packets), len(first)), np.array([each is not None for each in shown]))


def _differ_in_digits(contents: Texts, leading: Sequence[int]) -> Mask:
    """Return which of some contents differ from the first in digits only, those at `leading` not being zero."""
    masked = np.where(_IS_DIGIT[contents], np.uint8(ZERO), contents)
    fits: Mask = (masked == masked[0]).all(axis=1) & (contents[:, leading] != ZERO).all(axis=1)
    return fits


def _quoted(packets: Texts, places: Sequence[tuple[int, int]], first: str) -> tuple[Texts, Mask]:
    """Return the words of packets that are texts between quotation marks, and for which packets they are."""
    words = np.empty((len(packets), len(first)), np.uint8)
    words[:] = np.frombuffer(first.encode(), np.uint8)
    fits = np.ones(len(packets), np.bool_)
    at = len(_QUOTE)
    for begin, end in places:
        content = packets[:, begin:end]
        fits &= _IS_PLAIN[content].all(axis=1) & _BEGINS_PLAIN[content[:, 0]]
        words[:, at : at + end - begin] = content
        at += end - begin + len(_BETWEEN)
    return words, fits
