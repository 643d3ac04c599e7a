"""Lines into steps and words, with the place of every character."""

import re
from typing import NamedTuple

from ..common.bad_text import BadText

_TOKEN = re.compile(r"""(?P<blank>\s++)|(?P<end>;)|(?P<word>(?:"(?:\\.|[^"\\])*+"|[^\s;"])++)|(?P<open>")""")


class ScriptWord(NamedTuple):
    """Characters without an unquoted blank, as they were written."""

    text: str
    line: int
    """Number of the line, from 1."""
    column: int
    """Column of the first character, from 1."""
    source: str
    """The whole line."""

    def error(self, message: str, at: int = 0) -> BadText:
        """Return the error about the character at offset `at` of the word."""
        return BadText(message, self.line, self.column + at, self.source)

    def cut(self, start: int, end: int | None = None) -> "ScriptWord":
        """Return a part of the word."""
        return self._replace(text=self.text[start:end], column=self.column + start)


def steps(line: str, number: int) -> list[list[ScriptWord]]:
    """Return the words of each step of a line, without its comment; raises BadText for an open quotation mark."""
    found: list[list[ScriptWord]] = [[]]
    for token in _TOKEN.finditer(line):
        if token.lastgroup == "end":
            found.append([])
        elif token.lastgroup == "word":
            if token[0].startswith("#"):
                break
            found[-1].append(ScriptWord(token[0], number, token.start() + 1, line))
        elif token.lastgroup == "open":
            raise BadText("the quotation mark is not closed", number, token.start() + 1, line)
    return [words for words in found if words]


def split(word: ScriptWord, separator: str) -> list[ScriptWord]:
    """Return the parts of a word between the unquoted separators, a single character."""
    parts, start, quoted = [], 0, False
    for at, character in enumerate(word.text):
        if character == '"' and not (quoted and _escaped(word.text, at)):
            quoted = not quoted
        elif character == separator and not quoted:
            parts.append(word.cut(start, at))
            start = at + 1
    return [*parts, word.cut(start)]


def _escaped(text: str, at: int) -> bool:
    before = text[:at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
