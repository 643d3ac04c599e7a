"""What a payload contains, judged by its bytes: JSON, other text, or binary data."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...common.strict_json import check_json, parse_portable_json

MAX_JSON = 1 << 20
"""Payloads of more bytes than this are not tried as JSON."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"\s]+')
_PAIRS = {"{": "}", "[": "]"}


class Recognised(NamedTuple):
    """What a payload appears to be, and its text."""

    kind: str
    """`empty`, `text`, `json` or `binary`."""
    text: str
    """Empty for binary data."""


def classify(data: bytes) -> Recognised:
    """Return what `data` is: JSON, other text without control characters, or binary data."""
    kind, text = _text_or_binary(data)
    return Recognised("json" if kind == "text" and _may_be_json(data, text) and _is_json(text) else kind, text)


def classify_with_value(data: bytes) -> tuple[str, str, Any]:
    """Return what `classify` does and, for JSON that every reader understands alike, its value; otherwise None.

    The text is parsed once.
    """
    kind, text = _text_or_binary(data)
    if kind != "text" or not _may_be_json(data, text):
        return kind, text, None
    try:
        return "json", text, parse_portable_json(text)
    except ValueError:
        return "json" if _is_json(text) else "text", text, None


def _text_or_binary(data: bytes) -> tuple[str, str]:
    if not data:
        return "empty", ""
    text = readable_text(data)
    return ("binary", "") if text is None else ("text", text)


def readable_text(data: bytes) -> str | None:
    """Return `data` as text without control characters; None for anything else."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or not _CONTROL.search(text) else None


def _may_be_json(data: bytes, text: str) -> bool:
    return len(data) <= MAX_JSON and text.lstrip(" \t\r\n")[:1] in ("{", "[", '"')


def _is_json(text: str) -> bool:
    try:
        check_json(text)
    except ValueError:
        return False
    return True


def pretty(text: str, width: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of valid JSON with their depth; a value that fits within `width` stays on one line.

    Strings and numbers are copied unchanged, so that nothing is lost, and deep nesting needs no recursion.
    """
    tokens: list[str] = _TOKEN.findall(text)
    flat = _flat(tokens)
    if len(flat) <= width:
        yield 0, flat
        return
    if tokens.count("{") + tokens.count("[") == 1 and tokens[2:]:
        # One object or array of scalars, as most payloads are; no token holds a line break.
        yield 0, tokens[0]
        for member in "".join([_BROKEN.get(token, token) for token in tokens[1:-1]]).split("\n"):
            yield 1, member
        yield 0, tokens[-1]
        return
    sizes = _sizes(tokens)
    depth, line, at = 0, "", 0
    while at < len(tokens):
        token = tokens[at]
        closing = token in ("}", "]")
        if token in _PAIRS and (sizes[at][0] <= width - 2 * depth - len(line) or sizes[at][1] == at + 1):
            line, at = line + _flat(tokens[at : sizes[at][1] + 1]), sizes[at][1] + 1
            continue
        if closing:
            yield depth, line
            depth, line = depth - 1, ""
        line += _SPACED.get(token, token)
        if token in _PAIRS or token == ",":
            yield depth, line.rstrip()
            depth, line = depth + (token in _PAIRS), ""
        at += 1
    yield depth, line


_SPACED = {":": ": ", ",": ", "}
_BROKEN = {":": ": ", ",": ",\n"}


def _flat(tokens: list[str]) -> str:
    return "".join([_SPACED.get(token, token) for token in tokens])


def _sizes(tokens: list[str]) -> dict[int, tuple[int, int]]:
    """Return, for every opening bracket, its length on one line and the position of its closing bracket."""
    sizes: dict[int, tuple[int, int]] = {}
    opened: list[tuple[int, int]] = []
    length = 0
    for at, token in enumerate(tokens):
        if token in _PAIRS:
            opened.append((at, length))
        length += len(_SPACED.get(token, token))
        if token in ("}", "]"):
            start, before = opened.pop()
            sizes[start] = (length - before, at)
    return sizes
