"""Packets on the screen: the annotated dump, in colour on a terminal."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...codec.decode import decode
from ...codec.tree import Decoded, Finding
from ...lint.packet.check import lint
from ...spec.versions import Direction, Version
from ..terminal.cells import Line, wrap
from ..terminal.style import palette_of, write
from ..terminal.width import screen_width
from .dump import annotate, headline

if TYPE_CHECKING:
    from .formatted import PayloadFormat
    from .plan import RepeatedDumps

LIMIT = 256
"""Bytes of one field that are shown unless all are asked for."""
_PLACE = "\0"
GATHERED = 1 << 15
"""Characters that are written at once. In the pieces of 8 KiB of standard output, the system takes twice as long."""


class Show:
    """Writes packets and remarks to standard output.

    With `gathers` it writes many at once, the last of them by `flush`.
    """

    def __init__(
        self, *, secrets: bool = False, full: bool = False, payloads: "PayloadFormat | None" = None,
        gathers: bool = False,
    ) -> None:  # fmt: skip
        self.secrets = secrets
        self.payloads = payloads
        """The format that payloads are read in, None for what they appear to be."""
        self.limit = None if full else LIMIT
        self.width = screen_width()
        self.begun = False
        self._palette = palette_of(sys.stdout)
        self._most = GATHERED if gathers else 0
        self._place = self._palette.text([("  ", ""), (_PLACE, "dim")]).split(_PLACE)
        """What is around the words for time and place."""
        self._time = "", ""
        """The last time, and its line; packets that were sent together have the same."""
        self._gathered: list[str] = []
        self._size = 0

    @cached_property
    def repeated(self) -> "RepeatedDumps":
        from .plan import RepeatedDumps

        return RepeatedDumps(
            self._palette,
            width=self.width,
            limit=self.limit,
            secrets=self.secrets,
            payloads=self.payloads,
        )

    def judged(
        self, data: bytes, version: Version, direction: Direction | None, findings: Sequence[Finding], *,
        offset: int = 0, time: str = "",
    ) -> None:  # fmt: skip
        """Show one packet, whose findings are known, under its headline."""
        drawn = self.repeated.draw(data, version, direction, findings, self.below(time))
        if drawn is None:
            decoded = decode(data, version, direction=direction, offset=offset)
            decoded.findings = list(findings)
            self.packet(decoded, time=time)
        else:
            self._write(f"\n{drawn}" if self.begun else drawn)
            self.begun = True

    def reserve(self) -> int:
        """Leave a place for text among what is gathered and held; what is shown after it has a blank line before it."""
        self.begun = True
        self._gathered.append("")
        return len(self._gathered) - 1

    def fill(self, place: int, text: str) -> None:
        """Show text in a place that was left for it."""
        self._gathered[place] = text
        self._size += len(text)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Write nothing within the block, which can thus be shielded; then write what is gathered, if it is enough."""
        most, self._most = self._most, sys.maxsize
        try:
            yield
        finally:
            self._most = most
        self._write("")

    def below(self, time: str) -> str:
        """Return the line with the time below a headline."""
        if time != self._time[0]:
            [line] = self.below_each([time])
            self._time = time, line
        return self._time[1]

    def below_each(self, times: Iterable[str]) -> list[str]:
        """Return `below` for each packet."""
        before, after = self._place
        return [f"{before}{time if after else time.rstrip()}{after}\n" if time else "" for time in times]

    def packet(self, decoded: Decoded, *, judge: bool = False, time: str = "") -> bool:
        """Show one packet under its headline; return whether it has a finding of severity error."""
        if judge:
            decoded.findings = lint(decoded, decoded.direction)
        below: list[Line] = [[("  ", ""), (time, "dim")]] if time else []
        self.block([headline(decoded, width=self.width), *below, *self.dump(decoded, self.width)])
        return any(finding.severity == "error" for finding in decoded.findings)

    def dump(self, decoded: Decoded, width: int) -> Iterator[Line]:
        """Return the lines of the dump of a packet."""
        return annotate(decoded, width=width, limit=self.limit, secrets=self.secrets, payloads=self.payloads)

    def block(self, lines: Iterable[Any]) -> None:
        """Show lines that belong together, with a blank line before them."""
        if self.begun:
            self.lines([[]])
        self.lines(lines)

    def remark(self, text: str) -> None:
        """Show a remark of the program; `text` may contain text from the capture, which is escaped."""
        from ...common.escape import escape

        self.block(wrap([("* ", "mark"), (escape(text), "")], self.width))

    def lines(self, lines: Iterable[Any]) -> None:
        """Show lines of styled text."""
        self.begun = True
        for line in lines:
            self._write(f"{self._palette.text(line)}\n")

    def flush(self) -> None:
        """Write what is gathered."""
        text, self._size = "".join(self._gathered), 0
        self._gathered.clear()
        write(text, sys.stdout)

    def _write(self, text: str) -> None:
        if not self._most:
            write(text, sys.stdout)
            return
        self._gathered.append(text)
        self._size += len(text)
        if self._size >= self._most:
            self.flush()
