"""Packets on the screen: the annotated dump, in colour on a terminal."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...codec.tree import Decoded
from ...lint.packet.check import lint
from ..terminal.cells import Line, wrap
from ..terminal.style import show
from ..terminal.width import screen_width
from .dump import annotate, headline

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
        show(lines, sys.stdout)
