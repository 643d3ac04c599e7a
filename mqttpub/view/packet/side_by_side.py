"""Two readings of one packet side by side, or one below the other on a narrow screen."""

from itertools import zip_longest
from typing import Any

from ...codec.tree import Decoded
from ..terminal.cells import measure
from .dump import headline
from .show import Show

NARROWEST = 60
"""Columns that a dump needs."""
GAP = 3


def side_by_side(show: Show, readings: list[Decoded]) -> None:
    """Show the readings of one packet, in columns if the screen is wide enough."""
    width = (show.width - GAP * (len(readings) - 1)) // len(readings)
    if width < NARROWEST:
        for reading in readings:
            show.packet(reading)
        return
    blocks = [[headline(each), *show.dump(each, width)] for each in readings]
    show.block(_joined(row, width) for row in zip_longest(*blocks, fillvalue=[]))


def _joined(row: tuple[Any, ...], width: int) -> list[Any]:
    joined: list[Any] = []
    for line in row[:-1]:
        used = measure(line)
        joined += [*line, (" " * (width - used + GAP), "")]
    return joined + list(row[-1])
