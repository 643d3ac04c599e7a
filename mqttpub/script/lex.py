"""Lines into steps and words, with the place of every character."""

import re
from typing import NamedTuple

from ..common.bad_text import BadText

_TOKEN = re.compile(r"""(?P<blank>\s++)|(?P<end>;)|(?P<word>(?:"(?:\\.|[^"\\])*+"|[^\s;"])++)|(?P<open>")""")
_WHOLE = r"""(?s:"(?:\\.|[^"\\])*+"?+|\$\{[^}]*+\}?+)|"""
"""What no separator parts: quotes and variables, up to the end where they are not closed."""
_SHOWN = 40
"""Characters of a text in a message, at most."""


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
        return ScriptWord(self.text[start:end], self.line, self.column + start, self.source)


def shown(text: str) -> str:
    """Return the beginning of a text in single quotes, for a message; whoever prints the message escapes it."""
    return f"'{text[:_SHOWN]}...'" if len(text) > _SHOWN else f"'{text}'"


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
    """Return the parts of a word between the separators, a single character, outside of quotes and of `${...}`."""
    parts, start = [], 0
    for found in re.finditer(_WHOLE + separator, word.text):
        if found[0] == separator:
            parts.append(word.cut(start, found.start()))
            start = found.end()
    return [*parts, word.cut(start)]
