"""Lines of runs, drawn for thousands of packets at a time.

`summary` says what a line is; here lines are rows of a matrix of bytes, which begin as the form that they
have and get the values in which packets of one form differ. Of 200,000 small packets, drawing takes a third of the
time that it takes run by run (tests/benchmarks/views.py).
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...common.lru import BoundedMemo
from ...common.times import SECOND_NS, Clock
from ...traffic.runs import PacketRun, RunOrItem
from ..form.form import ID, PAYLOAD, TOPIC
from ..form.matrix import FormRows, Integers, PlacedForm, Texts, decimal_digits, matrix
from .facts import LONGEST_REMEMBERED
from .run_batch import RunBatch
from .summary import SummaryLines, stands_for_itself

WIDEST = 256
"""Bytes of the widest part of a line that is drawn here: the matrix is as wide as its widest line."""
_FEWEST = 4
"""Packets of a second, on average, for which the text of the second is made once."""
_NONE = b"\0"
"""Stands for no byte: escaped text has no such character."""


class _Held(NamedTuple):
    """What is drawn next."""

    runs: list[PacketRun]
    """Of the same columns."""
    others: list[tuple[int, str]]
    """The lines among them, each with the number of runs before it."""


class _TopicNames:
    """The Topic Names of a batch, by their numbers; later batches may add some."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.kinds = self.begins = np.zeros(0, np.int64)
        """For each name a number that those which are drawn alike have in common, and where it begins in `text`.

        Names that stand for themselves are drawn alike if they have one length.
        """
        self.text = b""
        """All that stand for themselves."""

    def extend(self) -> None:
        """Take the names that are new."""
        known = len(self.kinds)
        new = self.names[known:]
        if not new:
            return
        plain = [name if stands_for_itself(name) else "" for name in new]
        sizes = np.array([len(name) for name in plain])
        others = LONGEST_REMEMBERED + 1 + np.arange(known, known + len(new))
        self.kinds = np.concatenate((self.kinds, np.where(sizes, sizes, others)))
        self.begins = np.concatenate((self.begins, len(self.text) + np.cumsum(sizes) - sizes))
        self.text += "".join(plain).encode()


class RunLines:
    """Makes the lines that `drawn` makes of events; those of runs many at a time.

    Lines of runs are held until thousands have been read, so this is for inputs that are files.
    """

    def __init__(self, drawn: SummaryLines) -> None:
        self._drawn = drawn
        self.forms: BoundedMemo[int, PlacedForm] = BoundedMemo(drawn.most_forms)
        """By key."""
        self._names = _TopicNames([])
        """What the topics in these keys are numbers of."""

    def texts(self, events: Iterable[RunOrItem]) -> Iterator[str]:
        """Yield the texts of events, with line ends between those that are yielded together."""
        held = _Held([], [])
        try:
            for event in events:
                if not isinstance(event, PacketRun):
                    text = self._drawn.text(event)
                    if held.runs:
                        held.others.append((len(held.runs), text))
                    else:
                        yield text
                    continue
                if held.runs and event.columns is not held.runs[0].columns:
                    yield self._text(held)
                    held = _Held([], [])
                self._drawn.begin(event)
                held.runs.append(event)
        except Exception:
            # What was read before it is shown.
            if held.runs:
                yield self._text(held)
            raise
        if held.runs:
            yield self._text(held)

    def _text(self, held: _Held) -> str:
        runs, others = held
        arrays = runs[0].columns.arrays
        lines = self._lines(RunBatch(runs, arrays)) if arrays else None
        if lines is None:
            found = [self._drawn.text(run) for run in runs]
            for before, text in reversed(others):
                found.insert(before, text)
            return "\n".join(found)
        ends = [0]
        for run in runs:
            ends.append(ends[-1] + run.stop - run.start)
        edges = [0, *(ends[before] for before, _ in others), len(lines)]
        pieces = [lines[begin:end].tobytes() for begin, end in pairwise(edges)]
        if not lines.all():
            pieces = [piece.translate(None, _NONE) for piece in pieces]
        for at, (_, text) in enumerate(others):
            pieces[at] += f"{text}\n".encode("utf-8", "surrogatepass")
        return b"".join(pieces)[:-1].decode("utf-8", "surrogatepass")

    def _lines(self, batch: RunBatch) -> Texts | None:
        """Return the lines of packets, with their ends; None if they cannot be drawn together."""
        drawn = self._drawn
        heads = [drawn.head(run.client, run.ends, run.direction).encode() for run in batch.runs]
        times = time_texts(batch.time_ns, drawn.clock)
        if times is None or len(max(heads, key=len)) > WIDEST:
            return None
        forms, kinds = self._kinds(batch)
        if len(max(forms, key=lambda form: len(form.text)).text) > WIDEST:
            return None
        made = FormRows([times, matrix(heads).take(batch.run, axis=0)], forms, kinds)
        made.write_numbers(ID, batch.packet_id)
        made.write_bytes(TOPIC, self._names.text, self._names.begins[batch.arrays.topic[batch.rows]])
        made.write_bytes(PAYLOAD, batch.buffer, batch.payload_begin)
        return made.rows

    def _kinds(self, batch: RunBatch) -> tuple[list[PlacedForm], Integers]:
        """Return the forms of packets, and for each packet which one it has."""
        if self._names.names is not batch.names:
            self._names = _TopicNames(batch.names)
            self.forms.clear()
        self._names.extend()
        keys = batch.keys(self._names.kinds)
        order = np.argsort(keys)
        ranked = keys[order]
        begins = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
        kinds = np.empty(len(keys), np.int64)
        kinds[order] = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(keys)))
        forms, known = [], self.forms
        for key, at in zip(ranked[begins].tolist(), order[begins].tolist(), strict=True):
            form = known.get(key)
            if form is None:
                form = PlacedForm.of(self._drawn.row_form(*batch.packet(at), int(batch.size[at])))
                if len(form.text) <= WIDEST:
                    known.keep(key, form)
            forms.append(form)
        self._add_previews(batch, forms, kinds)
        return forms, kinds

    def _add_previews(self, batch: RunBatch, forms: list[PlacedForm], kinds: Integers) -> None:
        """Give a form of its own to each packet whose payload has other characters."""
        for at in np.flatnonzero(batch.has_other_characters()).tolist():
            kinds[at] = len(forms)
            text = self._drawn.row_text(*batch.packet(at), int(batch.size[at]))
            forms.append(PlacedForm(text.encode(), {}))


def time_texts(time_ns: Integers, clock: Clock) -> Texts | None:
    """Return times as `clock` shows them; None if one takes more cells than its width."""
    # The first time that is shown may be the zero of the clock.
    clock.show(int(time_ns[0]))
    passed = time_ns - clock.origin_ns
    seconds, rest_ns = np.divmod(passed, SECOND_NS)
    begins = np.flatnonzero(np.concatenate(([True], seconds[1:] != seconds[:-1])))
    if len(begins) * _FEWEST > len(time_ns) or passed.min() < 0 or (clock.absolute and (rest_ns % 1000).any()):
        return _joined(clock.shows(time_ns.tolist()), clock.width)
    shown = [clock.show(each) for each in time_ns[begins].tolist()]
    decimals = {len(text.partition(".")[2]) - len(clock.end) for text in shown if "." in text}
    if len(decimals) > 1 or not all("." in text and len(text) == clock.width for text in shown):
        return _joined(clock.shows(time_ns.tolist()), clock.width)
    count = decimals.pop()
    texts = matrix([text.encode() for text in shown]).take(
        np.repeat(np.arange(len(begins)), np.diff(begins, append=len(time_ns))), axis=0
    )
    end = clock.width - len(clock.end)
    texts[:, end - count : end] = decimal_digits(rest_ns // 10 ** (9 - count), count)
    return texts


def _joined(texts: list[str], width: int) -> Texts | None:
    """Return texts of this width; None if one has another."""
    if any(len(text) != width for text in texts):
        return None
    return np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(texts), width)
