"""Runs of numbers in a line of a log: single bytes, bare digits, and the rows of dumps, in every radix."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..text.hexdump import shows
from .cleaning import BLANK
from .directions import DIRECTIONS

Form = tuple[str, ...]
"""A notation, and what is around it; runs of one form in a text are read in the same radix."""


class Found(NamedTuple):
    """What may be bytes in a line."""

    form: Form
    start: int
    end: int
    """Characters of the line."""
    tokens: tuple[str, ...]
    """Numbers without prefix, digits, or the one text of a string."""
    offset: str = ""
    """The offset before the row of a dump."""
    lead: int = -1
    """Where the offset begins."""
    column: bool = False
    """Whether the text column shows the same bytes."""


_T = "[0-9A-Fa-f]{1,3}"
_S = "-?[0-9A-Fa-f]{1,3}"
_X = r"(?:0[xX]|16\#)[0-9A-Fa-f]{1,2}(?:_?[uU]8?)?"
_H = "[0-9A-Fa-f]{2}"
_END = r"(?!\w|\.+\w|\.\.)"
_BYTES = re.compile(
    rf"""(?<![\w.\\\#-])(?:
     (?P<prefixed>{_X}(?:(?:[ \t]*+[,;|:]?[ \t]*+){_X})*+){_END}
    |(?P<commas>{_S}(?:[ \t]*+,[ \t]*+{_S})+){_END}
    |(?P<colons>{_T}(?::{_T})+){_END}(?!:)
    |(?P<dashes>{_T}(?:-{_T})+){_END}(?!-)
    |(?P<semicolons>{_T}(?:;[ \t]?{_T})+){_END}
    |(?P<bars>{_T}(?:[ \t]*+\|[ \t]*+{_T})+){_END}
    |(?P<dots>{_T}(?:\.{_T}){{4,}}){_END}
    |(?P<blanks>{_S}(?:(?:[ ]{{1,4}}|\t){_S})+){_END}(?![ ]*+,[ ]*+-?[0-9])
    |(?P<underscores>{_H}(?:_{_H})+){_END}
    |(?P<slashes>{_H}(?:/{_H})+){_END}(?!/)
    |(?P<suffixed>{_H}[hH](?:[ ,]{{1,2}}{_H}[hH])+)(?!\w)
    )|(?P<marked>(?:[$%]{_H}[ ,]?){{2,}})(?!\w)
    |(?P<bracketed>(?:[\[<({{]{_H}[\]>)}}][ ,]?){{2,}})
    |(?P<escapes>(?:\\x[0-9A-Fa-f]{{2}}[ ,]?)+)(?!\w)""",
    re.VERBOSE,
)
_ONE = re.compile(r"-?[0-9A-Fa-f]{1,3}")
_PREFIXED = re.compile(r"(?:0[xX]|16#)([0-9A-Fa-f]{1,2})")
_ESCAPED = re.compile(r"\\x([0-9A-Fa-f]{2})")
_PAIR = re.compile(_H)
_APART = re.compile("[-:.]")
_GAP = re.compile(r"[ ]{2,}|\t")
_JOINED = re.compile(
    rf"(?<![\w.\\\#-])(?P<prefix>0[xX])?(?P<digits>[0-9A-Fa-f]{{4,}}(?:[ _][0-9A-Fa-f]{{2,}})*+){_END}"
)
_OFFSET = re.compile(
    r"(?<![\w.<#-])(?P<prefix>0[xX])?(?P<digits>[0-9A-Fa-f]{4,16})(?P<mark>h?[:>|]{0,2})(?P<gap>[ \t|]{1,8})"
    r"(?=(?:0[xX])?(?P<token>[0-9A-Fa-f]+)(?:[ \t|]|$)|[0-9-])"
)
_ROWS = (
    ("prefixed", re.compile(rf"{_X}(?:[ \t]{{1,4}}{_X})*+")),
    ("blanks", re.compile(rf"{_S}(?:(?:[ ]{{1,5}}|\t){_S})*(?=[ \t|]|$)")),
    (
        "words",
        re.compile(
            r"(?:[0-9A-Fa-f]{2}){2,}(?:[ ]{1,2}(?:[0-9A-Fa-f]{2})+)*(?:[ ]{3,7}[0-9A-Fa-f]{2,6}(?=[ ]{2}))?(?=[ \t|]|$)"
            r"|[01][0-7]{5}(?:[ ]{1,2}[01][0-7]{5})*(?=[ \t|]|$)|[0-9]{5}(?:[ ]{1,3}[0-9]{5})*(?=[ \t|]|$)"
        ),
    ),
)
_CHARACTERS = re.compile(r"(?P<offset>[0-9a-f]{7})(?P<cells>(?: [0-3][0-7]{2}|  \\[0abtnvfr]|   [!-~]|    |   $)+)")
_ONLY_OFFSET = re.compile(r"[ \t|]*+(?:0[xX])?(?P<digits>0[0-9A-Fa-f]{3,15}):?[ \t]*+$")
_LONE = re.compile(
    r"(?<![\w.\\#-])(?:(?P<prefixed>0[xX][0-9A-Fa-f]{1,2})|(?P<plain>-?[0-9A-Fa-f]{1,3}))"
    r"(?:[ \t]{2,}\|?\S\|?\s*+$|[\s\]})>;,|]*+$)"
)
_CLOSE = re.compile(r"\w:$")
_CELL = re.compile(r"0[xX][0-9A-Fa-f]{1,2}|[0-9A-Fa-f]{2}|[0-9]{1,3}")
_MOST_COLUMN = 300
"""Characters of a text column, and of what is around it, at most."""
_MOST_CELLS = 4
"""Cells of a row of a table that hold a small number, at most: more are a list."""
_WORDS = re.compile(r"[^\W\d_]+\d{0,2}(?!\d)")


def found_numbers(text: str) -> list[Found]:
    """Return the runs of single bytes and of joined digits in a line; only the row of a dump if the line is one."""
    row = dump_row(text)
    if row:
        # A row of one byte shows less than those before it how bytes are written.
        return [row, row._replace(form=("last",))] if len(row.tokens) == 1 else [row]
    return [*_end_of_dump(text), *_runs(text), *_joined(text)]


def _end_of_dump(text: str) -> Iterator[Found]:
    """Yield the offset that ends a dump, or the asterisk that stands for rows like the one before it."""
    if end := _ONLY_OFFSET.match(text):
        yield Found(("end",), end.start("digits"), end.end(), (), end["digits"])
    elif text.strip() == "*":
        yield Found(("end",), text.index("*"), len(text), (), "*")


def _runs(text: str) -> Iterator[Found]:
    for match in _BYTES.finditer(text):
        kind = match.lastgroup or ""
        # A number that a name and a colon are close before may be one of a line in a source.
        form = (
            ("bytes", kind, "close")
            if _CLOSE.search(text, max(0, match.start() - 2), match.start())
            else ("bytes", kind)
        )
        yield _trimmed(text, Found(form, match.start(), match.end(), _tokens(kind, match[0])))


def _tokens(kind: str, run: str) -> tuple[str, ...]:
    if kind == "prefixed":
        return tuple(token.zfill(2) for token in _PREFIXED.findall(run))
    if kind == "escapes":
        return tuple(_ESCAPED.findall(run))
    if kind in ("dashes", "colons", "dots"):
        return tuple(_APART.split(run))
    if kind in ("underscores", "slashes", "suffixed", "marked", "bracketed"):
        return tuple(_PAIR.findall(run))
    return tuple(_ONE.findall(run))


def _joined(text: str) -> Iterator[Found]:
    for match in _JOINED.finditer(text):
        tokens = tuple(re.split("[ _]", match["digits"]))
        sizes = [*map(len, tokens)]
        if sizes[0] % 2 == 0 and {*sizes[:-1]} <= {sizes[0]} and sizes[-1] <= sizes[0] and not sizes[-1] % 2:
            kind = "words" if tokens[1:] else "digits"
            yield Found(("joined", match["prefix"] or "", kind), match.start(), match.end(), tokens)


def dump_row(text: str) -> Found | None:
    """Return the row of a dump in a line: an offset, bytes, and perhaps text."""
    if cells := _CHARACTERS.fullmatch(text):
        shown = cells["cells"]
        tokens = tuple(shown[at : at + 4].lstrip() or " " for at in range(0, len(shown), 4))
        return Found(("row", "characters", ""), cells.start("cells"), cells.end(), tokens, cells["offset"], lead=0)
    for offset in _OFFSET.finditer(text):
        token = offset["token"] or ""
        digits = offset["digits"]
        bare = digits[0] == "0" and (len(digits) > 4 or digits == "0000")
        if not (offset["prefix"] or offset["mark"] or bare or offset["gap"].startswith("  ")):
            continue
        if len(token) == len(digits) and not (offset["mark"] or digits.strip("0") == ""):
            continue
        for kind, pattern in _ROWS:
            if match := pattern.match(text, offset.end()):
                tokens = tuple(match[0].split()) if kind == "words" else _tokens(kind, match[0])
                form = ("row", kind, str(len(tokens[0])) if kind == "words" else "")
                row = Found(form, match.start(), match.end(), tokens, digits, lead=offset.start())
                return _trimmed(text, row)
    return None


def _trimmed(text: str, found: Found) -> Found:
    """Cut a run where its text column begins; another wide gap is the one in the middle of a row."""
    for gap in _GAP.finditer(text, found.start, found.end):
        tokens = _tokens(found.form[1], text[found.start : gap.start()])
        if found.form[1] == "words":
            tokens = tuple(text[found.start : gap.start()].split())
        if _shown(text[gap.end() : gap.end() + _MOST_COLUMN], tokens):
            return found._replace(end=gap.start(), tokens=tokens, column=True)
    return found._replace(column=_shown(text[found.end : found.end + _MOST_COLUMN], found.tokens))


def _shown(column: str, tokens: tuple[str, ...]) -> bool:
    """Whether a text column shows the bytes of hex tokens."""
    column = column.strip(f" \t|><{BLANK}")
    if not column:
        return False
    try:
        data = bytes.fromhex("".join(token.zfill(2) for token in tokens))
    except ValueError:
        return False
    return shows(column, data) or shows(column, data.replace(b" ", b"\0"))


def lone_number(text: str) -> Found | None:
    """Return the number at the end of a line, for logs in which each byte has a line of its own."""
    match = _LONE.search(text)
    if not match:
        return None
    form = ("single", "0x" if match["prefixed"] else "", template(DIRECTIONS.sub("", text[: match.start()])))
    token = match["prefixed"][2:].zfill(2) if match["prefixed"] else match["plain"]
    return Found(form, match.start(), match.end(match.lastgroup or 0), (token,))


def cells(text: str) -> Iterator[Found]:
    """Yield the cells of a table that hold one byte each."""
    columns = [cell.strip(" \"'") for cell in re.split("[,;\t]", text)]
    numbers = sum(_CELL.fullmatch(value) is not None for value in columns)
    for at, value in enumerate(columns) if columns[1:] and numbers <= _MOST_CELLS else ():
        if _CELL.fullmatch(value):
            prefix = value[:2] if value[1:2] in ("x", "X") else ""
            yield Found(
                ("cell", prefix.lower(), str(at)), 0, len(text), (value[len(prefix) :].zfill(2) if prefix else value,)
            )


def template(text: str) -> str:
    """Return the words of a text, by which lines that the same code wrote are alike."""
    return " ".join(_WORDS.findall(text))[-80:]


# radixes

_ONLY_HEX = ("prefixed", "escapes", "underscores", "suffixed", "marked")
"""Runs that nobody writes but in hex."""
_OF_WORDS = {
    "4": ("hex", "hex words"), "5": ("decimal words",), "6": ("hex", "octal words"),
    "8": ("hex", "hex words", "binary"),
}  # fmt: skip
"""The radixes of words in the rows of dumps, by the number of their digits."""


def radixes(form: Form) -> tuple[str, ...]:
    """Return the radixes in which runs of a form can be read, the likeliest first."""
    if form[0] == "joined" or form[1] in _ONLY_HEX or form[:2] in (("single", "0x"), ("cell", "0x")):
        return ("hex",)
    if form[:2] == ("row", "words"):
        return _OF_WORDS.get(form[2], ("hex",))
    if form[:2] == ("row", "characters"):
        return ("characters",)
    return ("hex", "decimal", "octal", "bare hex")


def radixes_after(form: Form) -> tuple[str, ...]:
    """Return the radixes of runs before whose bytes stand one or two other numbers, such as a count or a line."""
    if form[:2] != ("bytes", "blanks"):
        return ()
    return tuple(f"{radix} after {count}" for count in (1, 2) for radix in radixes(form))


def bytes_of(tokens: tuple[str, ...], radix: str) -> bytes | None:
    """Return the bytes of tokens in a radix; None if they cannot be in it."""
    radix, _, count = radix.partition(" after ")
    tokens = tokens[int(count) :] if count else tokens
    try:
        return _READERS[radix](tokens) if tokens else None
    except (ValueError, OverflowError):
        return None


def _hex(tokens: tuple[str, ...]) -> bytes | None:
    return bytes.fromhex("".join(tokens)) if not any(len(token) % 2 for token in tokens) else None


def _bare_hex(tokens: tuple[str, ...]) -> bytes | None:
    """Return bytes in hex without leading zeros, as Arduino prints them."""
    if not all(len(token) == 1 or (len(token) == 2 and token[0] not in "0-") for token in tokens):
        return None
    return bytes(int(token, 16) for token in tokens)


def _decimal(tokens: tuple[str, ...]) -> bytes | None:
    """Return bytes in decimal, also signed ones, filled with zeros to three digits or not at all."""
    filled = all(len(token) == 3 for token in tokens)
    if not filled and any(len(token.lstrip("-")) > 1 and token.lstrip("-")[0] == "0" for token in tokens):
        return None
    numbers = [*map(int, tokens)]
    if min(numbers) < -128 or max(numbers) > (255 if min(numbers) >= 0 else 127):
        return None
    return bytes(number & 0xFF for number in numbers)


def _octal(tokens: tuple[str, ...]) -> bytes | None:
    return bytes(int(token, 8) for token in tokens) if all(len(token) == 3 for token in tokens) else None


def _hex_words(tokens: tuple[str, ...]) -> bytes | None:
    """Return the bytes of words that a little-endian machine shows."""
    if len({*map(len, tokens[:-1]), len(tokens[0])}) > 1:
        return None
    return b"".join(bytes.fromhex(token)[::-1] for token in tokens)


def _decimal_words(tokens: tuple[str, ...]) -> bytes | None:
    return b"".join(int(token).to_bytes(2, "little") for token in tokens)


def _binary(tokens: tuple[str, ...]) -> bytes | None:
    return bytes(int(token, 2) for token in tokens)


def _characters(tokens: tuple[str, ...]) -> bytes | None:
    """Return the bytes of cells that hold a character, an escape or an octal number, as `od -c` shows them."""
    return bytes(
        int(token, 8) if len(token) == 3 else _CONTROLS[token[1]] if len(token) == 2 else ord(token) for token in tokens
    )


_CONTROLS = dict(zip("0abtnvfr", b"\0\a\b\t\n\v\f\r", strict=True))


def _octal_words(tokens: tuple[str, ...]) -> bytes | None:
    return b"".join(int(token, 8).to_bytes(2, "little") for token in tokens)


_READERS: dict[str, Callable[[tuple[str, ...]], bytes | None]] = {
    "hex": _hex, "bare hex": _bare_hex, "decimal": _decimal, "octal": _octal, "hex words": _hex_words,
    "octal words": _octal_words, "decimal words": _decimal_words, "binary": _binary, "characters": _characters,
}  # fmt: skip
