"""Values of words: numbers, text, bytes and times, and the variables in them."""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, MutableMapping
from typing import NamedTuple

from .lex import ScriptWord, shown, split

Bindings = Mapping[str, int | bytes]
"""What the variables of a script stand for."""


class Variable(NamedTuple):
    """A name that stands for a value, which the first awaited line with it sets."""

    name: str
    default: int | bytes | None
    """What it stands for where nothing has set it; None for a variable that needs a value."""

    def value(self, bindings: Bindings) -> int | bytes:
        """Return what it stands for; raises ValueError if that is nothing."""
        value = bindings.get(self.name, self.default)
        if value is None:
            raise ValueError(f"the variable {self.name} has no value yet")
        return value


class TextTemplate(NamedTuple):
    """Bytes with variables among them."""

    parts: tuple[bytes | Variable, ...]

    def value(self, bindings: Bindings) -> bytes:
        """Return the bytes; raises ValueError for a variable without a value."""
        return b"".join(part if isinstance(part, bytes) else _written(part.value(bindings)) for part in self.parts)

    def matches(self, actual: bytes, bindings: MutableMapping[str, int | bytes]) -> bool:
        """Whether bytes are these; a variable that is not bound takes all up to the bytes after it."""
        pos, open_name = 0, ""
        for at, part in enumerate(self.parts):
            if isinstance(part, Variable) and part.name not in bindings:
                if open_name:
                    bindings[open_name] = b""
                open_name = part.name
                continue
            known = part if isinstance(part, bytes) else _written(bindings[part.name])
            if open_name:
                last = at == len(self.parts) - 1
                start = pos
                pos = actual.rfind(known, pos) if last else actual.find(known, pos)
                bindings[open_name] = actual[start : max(pos, start)]
                open_name = ""
            if pos < 0 or not actual.startswith(known, pos):
                return False
            pos += len(known)
        if open_name:
            bindings[open_name] = actual[pos:]
            return True
        return pos == len(actual)


Number = int | Variable


def _written(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


# numbers

_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]++|[0-9]++)|\$([A-Za-z_]\w*+)(?::(0[xX][0-9a-fA-F]++|[0-9]++))?+")
_CODE = re.compile(r"(?:0[xX])?([0-9a-fA-F]{2})")
_TIME = re.compile(r"([0-9]++(?:\.[0-9]++)?)(ms|s)?")
_DIGITS = 40
"""Characters of a number or a time, at most: no field of MQTT and no clock of a capture holds a larger one."""


def number(word: ScriptWord) -> Number:
    """Return a number, decimal or after 0x, or a variable for one."""
    found = _NUMBER.fullmatch(word.text)
    if found is None or len(word.text) > 2 * _DIGITS:
        raise word.error(f"{shown(word.text)} is not a number (7, 0x1f or $name)")
    if found[1]:
        return _int(found[1])
    return Variable(found[2], _int(found[3]) if found[3] else None)


def _int(digits: str) -> int:
    return int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)


def number_value(value: Number, bindings: Bindings) -> int:
    """Return the number; raises ValueError for a variable that stands for nothing, or for other text."""
    if isinstance(value, int):
        return value
    bound = value.value(bindings)
    try:
        return int(bound)
    except ValueError:
        held = shown(_written(bound).decode("utf-8", "surrogateescape"))
        raise ValueError(f"the variable {value.name} stands for {held}, which is not a number") from None


def number_matches(value: Number, actual: int, bindings: MutableMapping[str, int | bytes]) -> bool:
    """Whether a number is this one; a variable that is not bound takes it."""
    if isinstance(value, Variable) and value.name not in bindings:
        bindings[value.name] = actual
        return True
    return number_value(value, bindings) == actual


def codes(word: ScriptWord) -> tuple[int, ...]:
    """Return Reason Codes, two hex digits each, with commas between them; none for an empty word."""
    return tuple(map(_code, split(word, ","))) if word.text else ()


def _code(part: ScriptWord) -> int:
    found = _CODE.fullmatch(part.text)
    if found is None:
        raise part.error(f"{shown(part.text)} is not a Reason Code in two hex digits, such as 10 or 0x97")
    return int(found[1], 16)


def time_ns(word: ScriptWord) -> int:
    """Return a time such as 20, 0.5s or 200ms, in nanoseconds; without a unit it is seconds."""
    found = _TIME.fullmatch(word.text)
    if found is None or len(word.text) > _DIGITS:
        raise word.error(f"{shown(word.text)} is not a time (0.5, 2s or 200ms)")
    whole, _, part = found[1].partition(".")
    digits = 6 if found[2] == "ms" else 9
    return int(whole + part.ljust(digits, "0")[:digits])


# text and bytes

_PIECE = re.compile(
    r"""(?P<plain>[^"$]++|\$(?!\{))|"(?P<quoted>(?:\\.|[^"\\])*+)"|\$\{(?P<name>[A-Za-z_]\w*+)(?::(?P<default>[^}]*+))?+\}"""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))|(\$\{([A-Za-z_]\w*+)\})", re.DOTALL)
_ESCAPES = "a quotation mark, a backslash, $, n, r, t, xff, u20ac"
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}


def text(word: ScriptWord) -> TextTemplate:
    """Return text as UTF-8; `\\xff` within quotation marks is a byte, `${name}` a variable."""
    parts: list[bytes | Variable] = []
    at = 0
    while at < len(word.text):
        found = _PIECE.match(word.text, at)
        if found is None:
            raise word.error("'${' begins a variable, such as ${name}; quote it as \"\\${\" to send it", at)
        if found["plain"] is not None:
            parts.append(found["plain"].encode("utf-8", "surrogateescape"))
        elif found["name"] is not None:
            has_default = found["default"] is not None
            default = _unquoted(word, *found.span("default")) if has_default else None
            parts.append(Variable(found["name"], default))
        else:
            parts.extend(_quoted(word.cut(at + 1, found.end() - 1)))
        at = found.end()
    return TextTemplate(_joined(parts))


def _unquoted(word: ScriptWord, start: int, end: int) -> bytes:
    return b"".join(part for part in _quoted(word.cut(start, end)) if isinstance(part, bytes))


def _quoted(word: ScriptWord) -> list[bytes | Variable]:
    parts: list[bytes | Variable] = []
    at = 0
    for found in _ESCAPE.finditer(word.text):
        parts.append(word.text[at : found.start()].encode("utf-8", "surrogateescape"))
        at = found.end()
        if found[4]:
            parts.append(Variable(found[5], None))
        elif found[1]:
            parts.append(bytes.fromhex(found[1]))
        elif found[2]:
            parts.append(chr(int(found[2], 16)).encode("utf-8", "surrogatepass"))
        elif found[3] in _LETTERS:
            parts.append(_LETTERS[found[3]].encode())
        else:
            raise word.error(f"{shown(found[3])} cannot follow a backslash ({_ESCAPES} can)", found.start())
    parts.append(word.text[at:].encode("utf-8", "surrogateescape"))
    return parts


def _joined(parts: Iterable[bytes | Variable]) -> tuple[bytes | Variable, ...]:
    """Return parts with those that are bytes and stand side by side in one."""
    joined: list[bytes | Variable] = []
    held: list[bytes] = []
    for part in parts:
        if isinstance(part, bytes):
            held.append(part)
            continue
        joined += [b"".join(held), part]
        held.clear()
    joined.append(b"".join(held))
    return tuple(filter(None, joined))


def data(word: ScriptWord) -> TextTemplate:
    """Return bytes: after `hex:`, `base64:` or `text:`, and otherwise text."""
    form, colon, rest = word.text.partition(":")
    if not colon or form not in ("hex", "base64", "text"):
        return text(word)
    body = word.cut(len(form) + 1)
    if form == "text":
        return text(body)
    return TextTemplate(_joined([hex_bytes(body) if form == "hex" else _base64(body, rest)]))


def hex_bytes(word: ScriptWord) -> bytes:
    """Return the bytes of pairs of hex digits."""
    for at, character in enumerate(word.text):
        if character not in "0123456789abcdefABCDEF":
            raise word.error(f"{shown(character)} is not a hex digit", at)
    if len(word.text) % 2:
        raise word.error("a single hex digit, but a byte needs two", len(word.text) - 1)
    return bytes.fromhex(word.text)


def _base64(word: ScriptWord, digits: str) -> bytes:
    try:
        return b64decode(digits, validate=True)
    except ValueError:
        raise word.error(f"{shown(digits)} is not base64") from None


def pair(word: ScriptWord) -> tuple[TextTemplate, TextTemplate]:
    """Return the name and the value of a User Property, which the first unquoted colon divides."""
    name, *rest = split(word, ":")
    if not rest:
        raise word.error("a name and a value need a colon between them, as in trace:7")
    return text(name), text(word.cut(len(name.text) + 1))
