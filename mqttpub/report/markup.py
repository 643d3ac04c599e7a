"""HTML that is safe by construction: only `Markup` is inserted as it is, every other text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = ("meta", "link")


class Markup(str):
    """Text that already is HTML."""

    __slots__ = ()


Content = str | Markup
NUMBER, TEXT, NAME = "n", "t", "w"
"""Kinds of columns: right-aligned; left-aligned; left-aligned in the font of code, with breaks anywhere."""


def tag(name: str, *content: Content, **attributes: str) -> Markup:
    """Return an element; `class_` stands for the attribute `class`, and other `_` in names stand for `-`."""
    given = "".join(f' {key.strip("_").replace("_", "-")}="{_text(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>" + ("" if name in VOID else f"{join(content)}</{name}>"))


def join(content: Iterable[Content]) -> Markup:
    """Return contents joined, with texts escaped."""
    return Markup("".join(each if isinstance(each, Markup) else _text(each) for each in content))


def _text(text: str) -> str:
    """Return escaped text in ASCII, which is the same in every encoding."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


def table(caption: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Content]]) -> Markup:
    """Return a table; `columns` are headings and kinds. Cells repeat their headings for narrow screens."""
    heads = [tag("th", heading, class_=kind, scope="col") for heading, kind in columns]
    body = [
        tag("tr", *(tag("td", cell, class_=kind, data_of=heading)
                    for (heading, kind), cell in zip(columns, row, strict=True)))
        for row in rows
    ]  # fmt: skip
    return tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body))


def folded(summary: str, *content: Content) -> Markup:
    """Return contents that are hidden until the reader opens them."""
    return tag("details", tag("summary", summary), *content)
