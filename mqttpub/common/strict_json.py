"""Reading and writing JSON as RFC 8259 defines it, refusing what Python would accept or silently change.

Python's `json` accepts NaN and Infinity, keeps only the last of two members with one name, and turns numbers out
of range into infinity.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from json import JSONDecodeError, JSONDecoder

PORTABLE_DEPTH = 64
"""Levels of nested values that every reader of JSON can be expected to accept."""

LONGEST_PLAIN = 512
"""Bytes of JSON that are looked at for a plain object: each name is searched for in all that follows it."""

# A text neither begins nor ends like the places from which a blank is removed.
_PLAIN_TEXT = r"(?!: )[ !#-\[\]-~]*+(?<!, )"
# The name does not come again; the number of its group is filled in.
_PLAIN_NAME = rf'"({_PLAIN_TEXT})": ?+(?!.*"\{{}}":)'
# At most 15 digits stay what they are as a double, and as many zeros after the point are not written as an exponent.
_PLAIN_NUMBER = (
    r"-?+[1-9][0-9]{0,14}+(?![0-9.])|0(?!\.)"
    r"|(?=[-0-9.]{3,16}+[,}])-?+(?:[1-9][0-9]*+|0(?!\.0000))\.(?:0(?![0-9])|[0-9]*[1-9](?![0-9]))"
)
_PLAIN_VALUE = f'(?:"{_PLAIN_TEXT}"|{_PLAIN_NUMBER}|true|false|null)'
_CONSTANT = r'"(?:\\.|[^"\\])*+"|(-?Infinity|NaN)'
_MESSAGES = {
    "Expecting value": "no JSON value begins here",
    "Expecting property name enclosed in double quotes": "the name of a member must be in double quotes",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing here",
    "Expecting ':' delimiter": "a colon is missing after the name of a member",
    "Illegal trailing comma before end of object": "the comma before the closing bracket is one too many",
    "Illegal trailing comma before end of array": "the comma before the closing bracket is one too many",
    "Unterminated string starting at": "the string that begins here has no end",
    "Invalid control character at": "a string contains a control character",
    "Invalid \\escape": "there is no such escape",
    "Invalid \\uXXXX escape": "\\u has four hex digits",
    "Extra data": "unexpected data after the value",
}
"""Plainer words for the messages of Python's parser."""


class NotJson(ValueError):
    """Text that is not JSON; `line` and `column` count from 1 and say where it stops being JSON."""

    def __init__(self, message: str, text: str = "", pos: int = 0) -> None:
        self.message = message
        self.line = text.count("\n", 0, pos) + 1
        self.column = pos - text.rfind("\n", 0, pos)
        super().__init__(f"line {self.line}, column {self.column}: {message}")


class _Constant(ValueError):
    """NaN or Infinity, which Python's parser accepts."""


class _Lossy(ValueError):
    """JSON that Python values cannot represent."""


def parse_json(text: str | bytes) -> Any:
    """Return the value of JSON text; raises NotJson, and ValueError if Python would lose part of the value.

    That is the case for a name that an object has twice, a number that no double holds, an integer with more
    digits than Python converts, and nesting deeper than Python's stack. -0 is read as -0.0, which keeps its sign.
    """
    text = utf8(text)
    return _loads(text, _values(signed="-0" in text))


def parse_portable_json(text: str | bytes) -> Any:
    """Return what `parse_json` does; raises ValueError also for JSON that other readers may refuse or change.

    That is the case for a lone surrogate, and for nesting deeper than `PORTABLE_DEPTH`.
    """
    text = utf8(text)
    value = parse_json(text)
    if _is_certainly_portable(text):
        return value
    level = [value]
    for _ in range(PORTABLE_DEPTH):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += [*each, *each.values()]
            elif isinstance(each, list):
                inner += each
            elif isinstance(each, str):
                _check_surrogates(each)
        level = inner
    if level:
        raise ValueError("the JSON is nested too deeply")
    return value


def _check_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a string has the lone surrogate \\u{ord(text[error.start]):04x}") from None


def _is_certainly_portable(text: str) -> bool:
    """Whether JSON has neither lone surrogates nor deep nesting, judged by its characters.

    A walk through the value takes as long as the parser; nearly all JSON needs none.
    """
    if "\\u" in text or text.count("[") + text.count("{") >= PORTABLE_DEPTH:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def plain_object(text: bytes) -> str:
    """Return an object of plain values as `dumps` writes what `parse_portable_json` reads; "" for any other text.

    A plain value is a number as Python writes it, a string without escapes, `true`, `false` or `null`; other texts may
    be JSON too. A regular expression and two replacements take less than half the time of a parser and an encoder, and
    a sixth if `plain_objects` takes many texts (payloads of the small packets of tests/benchmarks/views.py).
    """
    may_be = text[:1] == b"{" and len(text) <= LONGEST_PLAIN and b"\n" not in text
    return _without_blanks(text) if may_be and _plain_lines()(text + b"\n").end() > len(text) else ""


def plain_objects(texts: Sequence[bytes]) -> list[str]:
    """Return what `plain_object` does for each of many texts."""
    lines = b"\n".join((*texts, b""))
    if b"{" not in lines:
        return [""] * len(texts)
    if lines.count(b"\n") > len(texts) or max(map(len, texts), default=0) > LONGEST_PLAIN:
        texts = [b"" if len(each) > LONGEST_PLAIN or b"\n" in each else each for each in texts]
        lines = b"\n".join((*texts, b""))
    match, size, found, pos = _plain_lines(), len(lines), [], 0
    while pos < size:
        end = match(lines, pos).end()
        if end > pos:
            found += _without_blanks(lines[pos : end - 1]).split("\n")
        if end < size:
            end += len(texts[len(found)]) + 1
            found.append("")
        pos = end
    return found


def _without_blanks(objects: bytes) -> str:
    return objects.replace(b'": ', b'":').replace(b', "', b',"').decode("ascii")


@cache
def _plain_lines() -> Any:
    first, other = (f"{_PLAIN_NAME.format(group)}{_PLAIN_VALUE}" for group in (1, 2))
    # Compiled on use: it takes 1.6 ms.
    return re.compile(rf"(?:\{{(?:{first}(?:, ?+{other})*+)?+\}}\n)*+".encode()).match


def check_json(text: str | bytes) -> None:
    """Raise ValueError unless the text is JSON; numbers may have any number of digits."""
    _loads(utf8(text), _texts())


def dumps(record: Any) -> str:
    """Return a record, or any value of JSON, as one line of ASCII. Raises ValueError for a number that JSON lacks."""
    return _encode()(record)


@cache
def _encode() -> Callable[[Any], str]:
    from json import JSONEncoder  # loaded on use: most commands write no JSON

    # json.dumps makes an encoder for every call, which takes longer than a payload of fifty bytes.
    return JSONEncoder(ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode


def utf8(data: str | bytes) -> str:
    """Return UTF-8 as text; raises ValueError with the offset of the first byte that is not UTF-8."""
    if isinstance(data, str):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8") from None


# json.loads makes a parser for each call with hooks, which takes longer than fifty bytes of JSON.


@cache
def _values(*, signed: bool) -> "JSONDecoder":
    from json import JSONDecoder  # loaded on use: most commands read no JSON

    # A function of ours for integers makes reading them take twice as long.
    integers = integer if signed else None
    return JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=integers, object_pairs_hook=_members)


@cache
def _texts() -> "JSONDecoder":
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def _loads(text: str, decoder: "JSONDecoder") -> Any:
    try:
        # `decode` looks for whitespace with regular expressions, which takes as long as fifty bytes of JSON.
        value, end = decoder.raw_decode(text)
        if end == len(text):
            return value
    except (ValueError, RecursionError):
        pass  # `decode` says what is wrong, or skips whitespace
    try:
        return decoder.decode(text)
    except _Constant:
        found = next(each for each in re.finditer(_CONSTANT, text) if each[1])
        raise NotJson(f"{found[1]} is not JSON", text, found.start()) from None
    except _Lossy:
        raise
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    except ValueError as error:
        from json import JSONDecodeError

        if isinstance(error, JSONDecodeError):
            raise NotJson(in_plain_words(error), text, error.pos) from None
        # int() refuses more digits than sys.get_int_max_str_digits().
        raise ValueError("a number has too many digits") from None


def in_plain_words(error: "JSONDecodeError") -> str:
    """Return the message of Python's parser in words for people who do not know it."""
    if not error.doc.strip():
        return "it is empty, which is not JSON"
    if error.doc.startswith("\ufeff"):
        return "the text begins with a byte order mark"
    if error.msg.startswith("Expecting") and not error.doc[error.pos :].strip():
        return "the text ends before the JSON is complete"
    return _MESSAGES.get(error.msg, error.msg)


def _refuse(word: str) -> Any:
    raise _Constant(word)


def integer(digits: str) -> int | float:
    """Return the number of an integer in JSON; -0 as a float, since no integer of Python has a negative zero."""
    return -0.0 if digits == "-0" else int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Lossy(f"{digits} does not fit a double")
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise _Lossy(f"'{name}' occurs twice in one object")
    return members
