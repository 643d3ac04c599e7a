"""Conversations in which one statement is broken, and some in which it nearly is."""

from pathlib import Path

from tests.lint.connection.conversation_text import Row, rows


def _table(name: str) -> list[Row]:
    return rows(Path(__file__).with_name(name).read_text(encoding="utf-8"))


FAULTS = _table("faults.txt")
NEAR = _table("near.txt")
