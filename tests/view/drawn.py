"""Screens that are drawn from conversations and compared with files in tests/transcripts/views."""

from collections.abc import Iterable
from pathlib import Path

from mqttpub.view.packet.dump import plain
from mqttpub.view.terminal.cells import Line, measure

FOLDER = Path(__file__).parent.parent / "transcripts" / "views"


def compare(name: str, drawn: str, update: bool) -> None:
    """Compare what was drawn with a file, or with `--update` write it there."""
    path, text = FOLDER / name, drawn.rstrip("\n") + "\n"
    if update:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def check(lines: Iterable[Line], width: int) -> list[Line]:
    """Return lines, none of which is too wide or holds what a terminal would obey."""
    kept = list(lines)
    for line in kept:
        assert measure(line) <= width, plain([line])
        assert all(text.isprintable() for text, _ in line), line
    return kept
