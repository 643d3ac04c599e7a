"""HTML that cannot be anything else than what it was made for: every text is escaped where it gets in."""

from collections.abc import Iterable, Sequence
from html import escape

VOID = ("meta", "link")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | Markup
NUMBER, TEXT, NAME = "n", "t", "w"
"""Kinds of columns: at the right; at the left; at the left in the type of code, and broken anywhere."""


def tag(name: str, *content: Content, **attributes: str) -> Markup:
    """Return an element; `class_` and the like stand for words that Python has taken, `_` for `-`."""
    given = "".join(f' {key.strip("_").replace("_", "-")}="{_text(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{given}>" + ("" if name in VOID else f"{join(content)}</{name}>"))


def join(content: Iterable[Content]) -> Markup:
    """Return contents side by side, all of them escaped that are no markup."""
    return Markup("".join(each if isinstance(each, Markup) else _text(each) for each in content))


def _text(text: str) -> str:
    """Return text as ASCII, so that it means the same in every encoding."""
    return escape(text).encode("ascii", "xmlcharrefreplace").decode("ascii")


def table(caption: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Content]]) -> Markup:
    """Return a table; `columns` are headings and kinds. Cells know their headings, as a phone shows no columns."""
    heads = [tag("th", heading, class_=kind, scope="col") for heading, kind in columns]
    body = [
        tag("tr", *(tag("td", cell, class_=kind, data_of=heading)
                    for (heading, kind), cell in zip(columns, row, strict=True)))
        for row in rows
    ]  # fmt: skip
    return tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body))


def folded(summary: str, *content: Content) -> Markup:
    """Return contents that are shown when somebody asks for them."""
    return tag("details", tag("summary", summary), *content)
