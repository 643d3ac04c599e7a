"""Arrays and strings as programming languages write them, and escapes without quotes."""

import re
from collections.abc import Callable, Iterator

from .digits import bad_digit
from .source import BadText, TextPiece, TextSpan, reach

_OPEN = re.compile(
    r"""\s*+
    (?:[A-Za-z_][^="'{}();\n]{0,200}=\s*+)?+            # uint8_t p[] =
    (?:(?:new\s++)?[A-Za-z_][\w.:]{0,80}\((?:\d++\))?\s*+  # bytes(   Buffer.from(   Uint8Array(2)
      |new\s++\w++\s*+\[\w*+\]\s*+                      # new byte[]
      |\[\w*+\]\w++\s*+                                 # []byte
      |\w++!\s*+                                        # vec!
      |\{\s*+"type"\s*+:\s*+"Buffer"\s*+,\s*+"data"\s*+:\s*+
      |(?:printf|echo)\s++(?:-\w++\s++)?+
    )*+
    (?P<open>\{|\[|<<|<Buffer\b|(?=(?:[bLuUxX]|u8)?["']))""",
    re.VERBOSE,
)
_CLOSE = re.compile(r"(?:[\s)};,]|\|.*|//.*)*+")
_LENGTH = re.compile(r"(?:const\s++)?(?:unsigned\s++)?(?:int|long|size_t)\s++\w+(?<=_len)\s*+=\s*+([0-9]{1,9})\s*+;")
"""The line that `xxd -i` writes after an array."""
_CLOSERS = {"{": "}", "[": "]", "<<": ">>"}

_STRING = re.compile(r"""([bLuUxX]|u8)?(?:"((?:\\[\s\S]|[^"\\\n])*+)"|'((?:\\[\s\S]|[^'\\\n])*+)')""")
_JOIN = re.compile(r"(?:[\s+]|//.*|\\(?=\s|$))*+")
_NOT_LF = re.compile(r"[^\n]")
_ITEM = re.compile(r"0[xX](?P<hex>[0-9a-fA-F]++)|(?P<decimal>-?[0-9]++)|(?=['\"])")
_GAP = re.compile(r"(?:[\s,]|\(\s*+\w++\s*+\)|#.*|//.*|/\*(?s:.*?)\*/)*+")
_DIGITS = {"hex": "a hex digit", "decimal": "a decimal digit"}

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(\n)|([abfnrtv\\'\"]))|([^\\\ud800-\udfff]++)")
_CONTROLS = dict(zip("abfnrtv\\'\"", b"\a\b\f\n\r\t\v\\'\"", strict=True))
_ONLY = re.compile(r"(?:\\(?:x[0-9a-fA-F]{2}|[0-7]{1,3}|[abfnrtv])|[\s,])*+")
_WORD = re.compile(r"[^\s,]++")
_LINE = re.compile(r"\S(?:.*\S)?")
_BYTEA = re.compile(r"\s*+\\x((?:[0-9a-fA-F]{2}){2,})\s*+$")


def opens(run: TextSpan) -> bool:
    """Whether an array or a string begins here, perhaps after a name or a call."""
    return _OPEN.match(run.text) is not None


def statements(run: TextSpan, text_prefix: str) -> Iterator[TextPiece | TextSpan]:
    """Yield the bytes of arrays and strings; strings without escapes and without the prefix are digits in quotes."""
    pos, end = 0, len(run.text)
    while pos < end:
        found = _OPEN.match(run.text, pos)
        if not found:
            raise run.error(pos, f"{run.text[pos]!a} is not the start of an array or a string")
        if found["open"]:
            value, pos = _READERS[found["open"]](run, found)
        else:
            value, pos = _strings(run, found.end(), text_prefix)
        yield value
        pos = reach(_CLOSE, run.text, pos)
        if length := _LENGTH.match(run.text, pos):
            if isinstance(value, TextPiece) and int(length[1]) != len(value.data):
                message = f"the length is {length[1]}, but the array before it has {len(value.data)} bytes"
                error = run.error(length.start(1), message)
                error.certain = True
                raise error
            pos = reach(_CLOSE, run.text, length.end())


def _buffer(run: TextSpan, found: re.Match[str]) -> tuple[TextSpan, int]:
    """Return the digits within `<Buffer 30 31>`."""
    end = run.text.find(">", found.end())
    if end < 0:
        raise run.error(found.start("open"), "'<' is not closed")
    return run.cut(found.end(), end), end + 1


def _array(run: TextSpan, found: re.Match[str]) -> tuple[TextPiece, int]:
    """Return the bytes of a list of numbers and characters."""
    text, closer, data = run.text, _CLOSERS[found["open"]], bytearray()
    pos = reach(_GAP, text, found.end())
    while not text.startswith(closer, pos):
        if pos == len(text):
            raise run.error(found.start("open"), f"{found['open']!a} is not closed")
        byte, pos = _item(run, pos)
        data.append(byte)
        pos = reach(_GAP, text, pos)
    return run.cut(found.start("open"), pos).piece(bytes(data), "array"), pos + len(closer)


def _item(run: TextSpan, pos: int) -> tuple[int, int]:
    """Return one byte of an array and where it ends."""
    found = _ITEM.match(run.text, pos)
    if not found:
        raise run.error(pos, f"{run.text[pos]!a} is not a number or a character")
    if not found[0]:
        return _character(run, pos)
    end, kind = found.end(), found.lastgroup or ""
    if run.text[end : end + 1].isalnum():
        raise run.error(end, f"{run.text[end]!a} is not {_DIGITS[kind]}")
    return _NUMBERS[kind](run, pos, found[kind]), end


def _hexadecimal(run: TextSpan, pos: int, number: str) -> int:
    if len(number.lstrip("0")) > 2:
        raise run.error(pos, "a number above 0xff does not fit a byte")
    return int(number[-2:], 16)


def _decimal(run: TextSpan, pos: int, number: str) -> int:
    """Return a byte, also of a signed one as Java prints it."""
    if len(number.lstrip("-")) > 1 and number.lstrip("-")[0] == "0":
        raise run.error(pos, "a number with a leading 0 may be octal or decimal")
    if len(number) > 4 or not -128 <= int(number) <= 255:
        raise run.error(pos, "a number outside -128 to 255 does not fit a byte")
    return int(number) & 0xFF


_NUMBERS = {"hex": _hexadecimal, "decimal": _decimal}


def _character(run: TextSpan, pos: int) -> tuple[int, int]:
    found = _string(run, pos)
    data = unescape(run, *found.span(found.lastindex or 0))
    if len(data) != 1:
        raise run.error(pos, f"a text of {len(data)} bytes stands where one character is expected")
    return data[0], found.end()


def _strings(run: TextSpan, start: int, text_prefix: str) -> tuple[TextPiece | TextSpan, int]:
    """Return adjacent strings as one."""
    found: list[re.Match[str]] = []
    pos = start
    while not found or _STRING.match(run.text, pos):
        found.append(_string(run, pos))
        pos = reach(_JOIN, run.text, found[-1].end())
    spans = [one.span(one.lastindex or 0) for one in found]
    if not any("\\" in one[0] or one[1] == text_prefix for one in found):
        return _unquoted(run, spans), pos
    data = b"".join(unescape(run, *span) for span in spans)
    return run.cut(start, pos).piece(data, "escaped"), pos


def _string(run: TextSpan, pos: int) -> re.Match[str]:
    found = _STRING.match(run.text, pos)
    if not found:
        raise run.error(pos, "the string is not closed")
    return found


def _unquoted(run: TextSpan, spans: list[tuple[int, int]]) -> TextSpan:
    """Return the part of the run from the first string to the last, with blanks for all that is not in a string."""
    start = at = spans[0][0]
    parts: list[str] = []
    for begin, end in spans:
        parts += (_NOT_LF.sub(" ", run.text[at:begin]), run.text[begin:end])
        at = end
    return run.cut(start, at)._replace(text="".join(parts))


_READERS: dict[str, Callable[[TextSpan, re.Match[str]], tuple[TextPiece | TextSpan, int]]] = {
    "{": _array,
    "[": _array,
    "<<": _array,
    "<Buffer": _buffer,
}


def bare(run: TextSpan) -> TextPiece:
    """Return the bytes of escapes and text without quotes; blanks count only if there is text."""
    if bytea := _BYTEA.match(run.text):
        return run.piece(bytes.fromhex(bytea[1]), "escaped")
    parts = (_WORD if _ONLY.fullmatch(run.text) else _LINE).finditer(run.text)
    return run.piece(b"".join(unescape(run, *part.span()) for part in parts), "escaped")


def unescape(run: TextSpan, pos: int, end: int) -> bytes:
    """Return the bytes of text with the escapes of C and Python; `\\x` has two digits."""
    data = bytearray()
    while pos < end:
        found = _ESCAPE.match(run.text, pos, end)
        if not found:
            raise _bad_escape(run, pos)
        data += _unescaped(run, found)
        pos = found.end()
    return bytes(data)


def _unescaped(run: TextSpan, found: re.Match[str]) -> bytes:
    digits, octal, newline, control, text = found.groups()
    if text or newline:
        return (text or "").encode()
    if control:
        return bytes([_CONTROLS[control]])
    value = int(digits, 16) if digits else int(octal, 8)
    if value > 0xFF:
        raise run.error(found.start(), "an octal number above 377 does not fit a byte")
    return bytes([value])


def _bad_escape(run: TextSpan, pos: int) -> BadText:
    sign, name = run.text[pos], run.text[pos + 1 : pos + 2]
    if sign != "\\":
        return run.error(pos, f"{sign!a} cannot be encoded as UTF-8")
    if name == "x":
        return bad_digit(run, pos + 2)
    if not name:
        return run.error(pos, "a backslash ends the text")
    return run.error(pos, f"{name!a} after a backslash is not an escape")
