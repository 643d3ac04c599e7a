"""Which forms in a text hold packets, and in which radix: what cuts into packets best is what was meant."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .assembly import Assembler, Run, Taken
from .numbers import Form, bytes_of, radixes, radixes_after
from .plausible import Grade, cut_bytes
from .quoted import base64_of, list_bytes, string_bytes

_OF_FORMS = {
    "hex": {"hex", "bare hex", "hex words"}, "decimal": {"decimal", "decimal words"},
    "octal": {"octal", "octal words"}, "escaped": {"escaped", "list", "characters"}, "base64": {"base64"},
}  # fmt: skip
"""The readings that are left where the user says the notation."""
_QUOTED = {"string": ("escaped",), "list": ("list",), "base64": ("base64",)}
OF_OTHERS = (("end",), ("last",))
"""Forms that are read as the rows before them."""
_STREAMED = ("single", "cell")
"""Forms in which each line has one byte."""
_MAC, _MAC_KINDS = 6, (("colons",), ("dashes",))
"""Bytes of a MAC address, and how it is written."""


class FormTally(NamedTuple):
    """What some runs are in a radix."""

    strong: int = 0
    weak: int = 0
    labelled: int = 0
    """Weak packets of which the line has words about packets."""
    missed: int = 0
    """Runs of several bytes that are not packets."""
    begun: int = 0
    """Packets that are cut short, but begin with a topic or a name."""
    sizes: int = 0
    """Bytes of packets without errors."""

    def accepts(self, form: Form, radix: str) -> bool:
        """Whether the runs are packets by no accident."""
        if self.strong:
            return form[0] not in _STREAMED or self.strong * 8 >= self.missed
        if (
            radix in ("base64", "octal words", "hex words", "decimal words", "binary", "characters")
            or form[0] == "cell"
        ):
            return False
        return 0 < self.labelled >= self.missed

    @property
    def is_cut_short(self) -> bool:
        """Whether there is nothing but packets of which the end is missing."""
        return self.begun > 0 and self.missed == 0 and self.weak == 0

    @property
    def score(self) -> float:
        """How much speaks for the reading."""
        return 8 * self.strong + self.weak + self.labelled + self.sizes / 64 + self.begun - 0.25 * self.missed


class Settler:
    """The readings of forms that were settled so far."""

    def __init__(self, form: str = "auto") -> None:
        self._allowed = _OF_FORMS.get(form)
        self.readings: dict[Form, str] = {}
        self.scores: dict[Form, float] = {}

    def settle(self, lines: Iterable[list[Run]]) -> None:
        """Settle the forms of some lines that are not settled yet."""
        of_forms: dict[Form, list[Run]] = defaultdict(list)
        rest: list[Run] = []
        for runs in lines:
            for run in runs:
                form = run.found.form
                if form in OF_OTHERS or form[0] == "single":
                    rest.append(run)
                if form not in OF_OTHERS and form not in self.readings:
                    of_forms[form].append(run)
        for form, runs in of_forms.items():
            self._settle(form, runs, rest, cut_short=False)
        if not self.readings:
            for form, runs in of_forms.items():
                self._settle(form, runs, rest, cut_short=True)

    def _settle(self, form: Form, runs: list[Run], rest: list[Run], *, cut_short: bool) -> None:
        """Settle a form; one with nothing but packets that are cut short counts only where no other has any."""
        found = self._possible(form, self._radixes(form), runs, rest, cut_short=cut_short)
        if not cut_short and (not found or form[-1] == "close"):
            found += self._possible(form, self._allowed_of(radixes_after(form)), runs, rest, cut_short=False)
        if not found:
            return
        best = max(found, key=lambda each: each[0])
        self.readings[form], self.scores[form] = best[1], best[0]

    def _possible(
        self, form: Form, radixes: list[str], runs: list[Run], rest: list[Run], *, cut_short: bool
    ) -> list[tuple[float, str]]:
        """Return the radixes in which runs are packets by no accident, and how much speaks for each."""
        found: list[tuple[float, str]] = []
        for radix in radixes:
            tally = _tally(_merged(runs, rest) if form[0] in ("bytes", "row") else runs, radix, form)
            if tally.is_cut_short if cut_short else tally.accepts(form, radix):
                found.append((tally.score, radix))
        return found

    def _radixes(self, form: Form) -> list[str]:
        return self._allowed_of(_QUOTED.get(form[0]) or radixes(form))

    def _allowed_of(self, radixes: Iterable[str]) -> list[str]:
        allowed = self._allowed
        return [radix for radix in radixes if allowed is None or radix.partition(" after ")[0] in allowed]

    def of_line(self, runs: list[Run]) -> list[tuple[Run, bytes]]:
        """Return the bytes in a line: those of the form for which most speaks."""
        known = [run for run in runs if run.found.form in self.readings]
        if not known:
            return []
        if len({run.found.form for run in known}) == 1:
            return self._in_form(known, known[0].found.form)
        forms = sorted({run.found.form for run in known}, key=lambda each: -self.scores[each])
        read = [self._in_form(known, form) for form in forms]
        # A line in which the likeliest form makes no packet may be in another.
        grades = [max((cut_bytes(data).grade for _, data in each), default=Grade.NONE) for each in read]
        return read[grades.index(max(grades))]

    def _in_form(self, known: list[Run], form: Form) -> list[tuple[Run, bytes]]:
        return [
            (run, data)
            for run in known
            if run.found.form == form and (data := data_of(run, self.readings[form])) is not None
        ]


def goes_on(run: Run, made: Assembler) -> bool:
    """Whether the one number at the end of a line is a byte that continues those of the lines before it.

    Nothing else is in the line, or the byte is the last one of a packet.
    """
    if run.found.form == ("last",):
        return made.follows(run)
    if run.found.form[0] != "single" or not made.open:
        return False
    return (run.bare and run.found.form[2] == "") or made.missing(run) == 1


def _merged(runs: list[Run], rest: list[Run]) -> Iterator[Run]:
    both = {id(run): run for run in (*runs, *rest)}
    return iter(sorted(both.values(), key=lambda run: (run.line.number, run.found.start)))


def _tally(runs: Iterable[Run], radix: str, form: Form) -> FormTally:
    missed: list[Run] = []
    made = Assembler(missed.append)
    counts: Counter[str] = Counter()
    seen: set[int] = set()
    for run in runs:
        if run.found.form == ("end",):
            taken = made.add(run, b"")
        elif run.found.form != form and (not goes_on(run, made) or run.line.number in seen):
            continue
        elif (data := data_of(run, radix)) is None:
            if run.found.form == form:
                missed.append(run)
            continue
        else:
            taken = made.add(run, data)
            seen.add(run.line.number)
        for each in taken:
            _count(each, counts)
    for each in made.end():
        _count(each, counts)
    counts["missed"] += sum(
        len(run.found.tokens) > 1 or form[0] in (*_STREAMED, "row") for run in missed if _counts(run)
    )
    return FormTally(**counts)


def _counts(run: Run) -> bool:
    """Whether it means something that a run is not a packet: an ordinary number does not."""
    return run.found.form[0] != "joined" or not "".join(run.found.tokens).isdigit()


def _count(taken: Taken, counts: "Counter[str]") -> None:
    if taken.grade is Grade.OPEN:
        counts["begun"] += taken.run.ends and is_begun(taken.data)
    elif taken.grade is not Grade.FRAMED:
        name = "strong" if taken.grade is Grade.STRONG else "weak"
        counts[name] += 1
        counts["sizes"] += len(taken.data)
        counts["labelled"] += name == "weak" and taken.run.labelled and _is_certain(taken)


def _is_certain(taken: Taken) -> bool:
    """Whether short packets have been written as bytes: not one bare number such as an address."""
    form, size = taken.run.found.form, len(taken.data)
    if form[0] == "joined":
        return form[1] == "" and (size > 2 or (taken.run.mark is not None and taken.run.mark.kind != "label"))
    return size >= 2


def is_begun(data: bytes) -> bool:
    """Whether bytes that are cut short show enough of a packet: its type and the beginning of a name."""
    return len(data) > 4 and data[0] >> 4 in (1, 3, 8) and data[2:4] != b"\0\0"


def data_of(run: Run, radix: str) -> bytes | None:
    """Return the bytes of a run in a radix; a count before them, which says how many follow, is not one of them."""
    tokens, kind = run.found.tokens, run.found.form[1:2]
    if len(tokens) == _MAC and kind in _MAC_KINDS and radix == "hex" and (run.starts or not run.bare):
        data = bytes_of(tokens, radix)
        return data if data and cut_bytes(data).grade >= Grade.WEAK else None
    if radix == "escaped":
        return string_bytes(tokens[0])
    if radix == "list":
        return list_bytes(tokens[0])
    if radix == "base64":
        return base64_of(tokens[0])
    if run.bare and not run.starts:
        # A row that continues those before it has no number of its own before its bytes.
        radix = radix.partition(" after ")[0]
    data = bytes_of(tokens, radix)
    counted = len(tokens) > 2 and tokens[0].isdigit() and int(tokens[0]) == len(tokens) - 1
    if counted and (run.starts or not run.bare):
        rest = bytes_of(tokens[1:], radix)
        if rest and cut_bytes(rest).grade > Grade.NONE and (data is None or cut_bytes(data).grade < Grade.WEAK):
            return rest
    return data
