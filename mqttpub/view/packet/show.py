"""Packets on the screen: the annotated dump, in colour on a terminal."""

import sys
from collections.abc import Iterable
from typing import Any

from ...codec.tree import Decoded
from ...lint.packet.check import lint
from ..terminal.cells import wrap
from ..terminal.style import show
from ..terminal.width import screen_width
from .dump import annotate, headline

LIMIT = 256
"""Bytes of one field that are shown unless all are asked for."""


class Show:
    """Writes packets and remarks to standard output."""

    def __init__(self, *, secrets: bool = False, full: bool = False) -> None:
        self.secrets = secrets
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
        dump = annotate(decoded, width=self.width, limit=self.limit, secrets=self.secrets)
        self.block([*head, *dump])
        return any(finding.severity == "error" for finding in decoded.findings)

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
