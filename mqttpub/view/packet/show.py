"""Packets on the screen: the annotated dump, in colour on a terminal."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...codec.decode import decode
from ...codec.tree import Decoded, Finding
from ...lint.packet.check import lint
from ...spec.versions import Direction, Version
from ..terminal.cells import Line, wrap
from ..terminal.style import palette_of, write
from ..terminal.width import screen_width
from .dump import annotate, headline
from .plan import RepeatedDumps

if TYPE_CHECKING:
    from .formatted import PayloadFormat

LIMIT = 256
"""Bytes of one field that are shown unless all are asked for."""


class Show:
    """Writes packets and remarks to standard output."""

    def __init__(self, *, secrets: bool = False, full: bool = False, payloads: "PayloadFormat | None" = None) -> None:
        self.secrets = secrets
        self.payloads = payloads
        """The format that payloads are read in, None for what they appear to be."""
        self.limit = None if full else LIMIT
        self.width = screen_width()
        self.begun = False
        self._palette = palette_of(sys.stdout)
        self._repeated = RepeatedDumps(
            self._palette, width=self.width, limit=self.limit, secrets=secrets, payloads=payloads
        )

    def judged(
        self, data: bytes, version: Version, direction: Direction | None, findings: Sequence[Finding], *,
        offset: int = 0, time: str = "",
    ) -> None:  # fmt: skip
        """Show one packet, whose findings are known, under its headline."""
        drawn = self._repeated.draw(data, version, direction, findings)
        if drawn is None:
            decoded = decode(data, version, direction=direction, offset=offset)
            decoded.findings = list(findings)
            self.packet(decoded, time=time)
            return
        head, rows = drawn
        between = f"{self._palette.text([('  ', ''), (time, 'dim')])}\n" if time else ""
        write(f"\n{head}{between}{rows}" if self.begun else f"{head}{between}{rows}", sys.stdout)
        self.begun = True

    def packet(self, decoded: Decoded, *, judge: bool = False, time: str = "") -> bool:
        """Show one packet under its headline; return whether it has a finding of severity error."""
        if judge:
            decoded.findings = lint(decoded, decoded.direction)
        head = [[*headline(decoded, width=self.width)]]
        if time:
            head.append([("  ", ""), (time, "dim")])
        self.block([*head, *self.dump(decoded, self.width)])
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
            write(f"{self._palette.text(line)}\n", sys.stdout)
