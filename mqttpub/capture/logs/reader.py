"""Reads the lines of a log, some at a time: the forms are settled by the lines in which the first packets are."""

from collections.abc import Generator, Iterable, Iterator, Sequence

from ..text.digits import begins_packet
from ..text.source import BadText, TextPiece
from .account import Log
from .assembly import Assembler, Run, Taken
from .calls import CallBytes, CallReader
from .cleaning import BLANK, LogLine, log_line, time_ns
from .directions import Mark, mark_of
from .numbers import Found
from .plausible import Grade
from .scanning import WORDED, Scanner
from .senders import Senders
from .settle import OF_OTHERS, Settler, data_of, goes_on, is_begun

_LEAST_FRAMED = 4
"""Bytes of packets with errors that are taken although the line says nothing of packets, at least."""


class LogReader:
    """Takes the packets out of lines; `log` counts what was taken and what was skipped."""

    def __init__(self, log: Log, form: str = "auto") -> None:
        self.log = log
        self.refused: BadText | None = None
        """Why a line cannot be read, though it has to do with MQTT."""
        self._settler = Settler(form)
        self._scanner = Scanner(self._settler.readings)
        self._senders = Senders(log)
        self._calls = CallReader()
        self._of_calls: dict[str, Assembler] = {}
        self._missed: set[int] = set()
        self._assembler = Assembler(self._miss)
        self._begun = False

    @property
    def unknown(self) -> BadText | None:
        """Why system calls are left out, if they are."""
        return self._calls.unknown

    def window(self, rows: Sequence[tuple[int, str]], *, final: bool) -> list[TextPiece]:
        """Return the packets in the next lines, each a number and a text; `final` says that no more follow."""
        lines = [log_line(number, text) for number, text in rows]
        self._missed.clear()
        if not self._begun:
            self._scanner.begin(lines)
            self._begun = True
        taken = [*self._taken(lines)]
        if final:
            taken += [each for made in (self._assembler, *self._of_calls.values()) for each in made.end()]
        taken = [each for each in taken if self._is_meant(each)]
        for each in taken:
            self._senders.learn(each)
        self._senders.decide()
        self.log.frames = self._assembler.frames
        return [self._piece(each) for each in taken]

    def _taken(self, lines: Sequence[LogLine]) -> Iterator[Taken]:
        calls: dict[int, list[CallBytes]] = {}
        for line in lines:
            found = self._checked(line)
            if found is not None:
                calls[line.number] = found
        if any(calls.values()) or self._of_calls:
            yield from self._from_calls(lines, calls)
            return
        scanned = [self._runs(line) if line.number not in calls else [] for line in lines]
        self._settler.settle(scanned)
        for line, runs in zip(lines, scanned, strict=True):
            used = yield from self._of_line(runs)
            self._account(line, used)

    def _checked(self, line: LogLine) -> list[CallBytes] | None:
        try:
            return self._calls.line(line)
        except BadText as error:
            self.refused = self.refused or error
            return None

    def _runs(self, line: LogLine) -> list[Run]:
        try:
            return self._scanner.runs(line)
        except BadText as error:
            self.refused = self.refused or error
            return []

    def _from_calls(self, lines: Sequence[LogLine], calls: dict[int, list[CallBytes]]) -> Iterator[Taken]:
        for line in lines:
            found = calls.get(line.number) or []
            for each in found:
                run = Run(
                    each.line, Found(("call",), 0, 0, ()), Mark(each.side, "word"), False, True, False, "", None, True
                )
                made = self._of_calls.setdefault(each.fd, Assembler(self._miss))
                yield from made.add(run, each.data)
            self._account(line, ["system calls"] if found else [])

    def _of_line(self, runs: list[Run]) -> Generator[Taken, None, list[str]]:
        """Yield the packets that the bytes of a line complete, and return the notations in which bytes were read."""
        used: list[str] = []
        end = 0
        known = self._settler.of_line(runs)
        if not known and self._assembler.open:
            known = [(run, b"") for run in runs if run.found.form == ("end",)] + self._going_on(runs)
        for run, data in known:
            between = run.line.bare[end : run.found.start].replace(BLANK, " ")
            if used and WORDED.search(between):
                mark = mark_of(between, between)
                if mark is None:
                    self.log.left(run.line.number)
                    break
                # Each of several packets in a line has its own direction before it.
                run = run._replace(mark=mark, starts=True)
            self._missed.discard(run.line.number)
            yield from self._assembler.add(run, data)
            if run.line.number not in self._missed:
                used.append(self._kind(run))
                end = run.found.end
            elif used:
                self.log.left(run.line.number)
        return used

    def _going_on(self, runs: list[Run]) -> list[tuple[Run, bytes]]:
        """Return the one byte of a line that continues a list in the lines before it."""
        radixes = {radix.partition(" after ")[0] for radix in self._settler.readings.values()}
        return [
            (run, data)
            for run in runs
            if goes_on(run, self._assembler)
            for radix in radixes
            if (data := data_of(run, radix)) is not None
        ][:1]

    def _kind(self, run: Run) -> str:
        form = run.found.form
        radix = self._settler.readings.get(form, "hex").partition(" after ")[0]
        if form[0] == "row":
            return f"a dump in {radix}"
        return "" if form in OF_OTHERS else radix

    def _miss(self, run: Run) -> None:
        self._missed.add(run.line.number)

    def _account(self, line: LogLine, used: Iterable[str]) -> None:
        kinds = [*used]
        if kinds:
            self.log.take(kinds)
        elif line.text.strip():
            self.log.pass_over(line.number)

    def _is_meant(self, taken: Taken) -> bool:
        """Whether packets with errors, or cut short, are meant as packets."""
        if taken.grade >= Grade.WEAK or taken.run.found.form == ("call",):
            return True
        if taken.grade is Grade.FRAMED:
            said = taken.run.mark is not None and taken.run.mark.kind != "label"
            valid = begins_packet(taken.data[0])
            return (said and len(taken.data) > 2) or (valid and len(taken.data) >= _LEAST_FRAMED)
        return taken.run.ends and is_begun(taken.data)

    def _piece(self, taken: Taken) -> TextPiece:
        line = taken.run.line
        when = time_ns(line.text) or time_ns(taken.run.above)
        return TextPiece(taken.data, line.number, "log", self._senders.side(taken), time_ns=when)
