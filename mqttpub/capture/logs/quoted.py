"""Bytes as programming languages write strings and lists of them: escapes, characters among numbers, base64."""

import re
from binascii import Error, a2b_base64
from collections.abc import Iterator

from ..text.digits import URL_SAFE, begins_packet
from .numbers import Found

_STRING = re.compile(
    r"""(?<![A-Za-z0-9_\\])(?P<prefix>[bBcLuU]r?|rb|u8)?(?P<quote>["'`])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*+)(?P=quote)"""
)
_BARE = re.compile(r"(?<!\S)(?P<text>[^\s\\]?\\(?:x[0-9A-Fa-f]{2}|[0-7]{1,3}|u[0-9A-Fa-f]{4})(?:[^\s]|[ ](?=[^\s]))*)")
_ESCAPE = re.compile(
    r"\\(?:x(?P<hex>[0-9A-Fa-f]{2})|u(?P<four>[0-9A-Fa-f]{4})|[ux]\{(?P<braces>[0-9A-Fa-f]{1,6})\}|(?P<octal>[0-7]{1,3})"
    r"""|(?P<letter>[abefnrtv\\'"`?/])|$)|(?P<text>[^\\]+)""",
    re.DOTALL,
)
_LETTERS = dict(zip("abefnrtv\\'\"`?/", b"\a\b\x1b\f\n\r\t\v\\'\"`?/", strict=True))
_CHARACTER = r"""'(?:\\(?:x[0-9A-Fa-f]{2}|[0-7]{1,3}|.)|[^'\\])'"""
_TEXT = r'"(?:\\.|[^"\\])*+"(?:/\w+)?'
_ITEM = re.compile(
    rf"(?:0[xX]|16\#)(?P<hex>[0-9A-Fa-f]{{1,2}})|(?P<decimal>-?[0-9]{{1,3}})|(?P<text>{_CHARACTER}|{_TEXT})"
)
_ANY_ITEM = rf"(?:(?:0[xX]|16\#)[0-9A-Fa-f]{{1,2}}|-?[0-9]{{1,3}}|{_CHARACTER}|{_TEXT})"
_LIST = re.compile(rf"(?:<<|[\[{{(])\s*+(?P<items>{_ANY_ITEM}(?:\s*+,\s*+{_ANY_ITEM})*+)\s*+,?\s*+(?:>>|[\]}})])")
_BASE64 = re.compile(r"(?<![\w+/=.-])(?P<digits>[A-Za-z0-9+/_-]{3,}={1,2}|[A-Za-z0-9+/_-]{8,})(?![\w+/=-])")


def found_strings(text: str) -> list[Found]:
    """Return the strings in a line that may show bytes, with their quotes taken off but the escapes left."""
    found: list[Found] = []
    escaped = "\\" in text
    if escaped or "b'" in text or 'b"' in text:
        for match in _STRING.finditer(text):
            if match["text"] and ("\\" in match["text"] or (match["prefix"] or "").lower() == "b"):
                form = ("string", match["prefix"] or "", match["quote"])
                found.append(Found(form, match.start(), match.end(), (match["text"],)))
    if escaped and not found:
        found += (Found(("string", "", ""), *match.span(), (match["text"],)) for match in _BARE.finditer(text))
    if '"' in text or "'" in text:
        found += (
            Found(("list",), *match.span(), (match["items"],))
            for match in _LIST.finditer(text)
            if "'" in match["items"] or '"' in match["items"]
        )
    return found


def found_base64(text: str) -> Iterator[Found]:
    """Yield the words of a line that may be base64 of packets."""
    for match in _BASE64.finditer(text):
        digits = match["digits"]
        try:
            first = a2b_base64(digits[:4].translate(URL_SAFE))[0]
        except Error:
            continue
        if begins_packet(first):
            yield Found(("base64",), match.start(), match.end(), (digits,))


def string_bytes(text: str) -> bytes | None:
    """Return the bytes of a string with the escapes of C, Python, Go, Rust, Java, JavaScript, Ruby or Elixir."""
    data, at = bytearray(), 0
    while at < len(text):
        match = _ESCAPE.match(text, at)
        if not match:
            return None
        at = match.end()
        if match["text"]:
            data += match["text"].encode("utf-8", "replace")
        elif match["letter"]:
            data.append(_LETTERS[match["letter"]])
        elif digits := match["hex"] or match["four"] or match["braces"]:
            code = int(digits, 16)
            data += bytes((code,)) if code < 256 else chr(code).encode("utf-8", "replace") if code < 0x110000 else b""
        elif match["octal"]:
            if int(match["octal"], 8) > 255:
                return None
            data.append(int(match["octal"], 8))
    return bytes(data)


def list_bytes(text: str) -> bytes | None:
    """Return the bytes of a list of numbers, characters and strings."""
    data = bytearray()
    for match in _ITEM.finditer(text):
        if match["hex"]:
            data.append(int(match["hex"], 16))
        elif match["decimal"]:
            if not -128 <= int(match["decimal"]) <= 255:
                return None
            data.append(int(match["decimal"]) & 0xFF)
        else:
            shown = match["text"].rpartition("/")[0] if match["text"][-1] not in "'\"" else match["text"]
            data += string_bytes(shown[1:-1]) or b""
    return bytes(data)


def base64_of(text: str) -> bytes | None:
    """Return the bytes of base64, standard or for URLs, padded or not."""
    body = text.rstrip("=").translate(URL_SAFE)
    if len(body) % 4 == 1:
        return None
    try:
        return a2b_base64(body + "=" * (-len(body) % 4))
    except Error:
        return None
