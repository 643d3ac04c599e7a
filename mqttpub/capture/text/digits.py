"""Bare digits: hex in pairs, and base64."""

import re
from binascii import a2b_base64, b2a_base64

from .source import BadText, TextPiece, TextSpan, reach

_DIGIT = "[0-9a-fA-F]"
_BETWEEN = r"[\s:,-]++|\.(?!\.\.)|\#.*|//.*|/\*(?s:.*?)\*/"
_HEX = re.compile(rf"(?:{_BETWEEN}|0[xX]{_DIGIT}(?!{_DIGIT})|(?:0[xX])?(?:{_DIGIT}{_DIGIT})++)*+")
_NOISE = re.compile(rf"0[xX]|{_BETWEEN}")
_SHORT = re.compile(rf"0[xX](?={_DIGIT}(?!{_DIGIT}))")
_LONE = re.compile(rf"{_DIGIT}(?={_BETWEEN}|$)")
_ONE = re.compile(_DIGIT)
_OPENED = re.compile(r"0[xX](?=\S)")
_LEFT_OUT = ("...", "\u2026", "*")

_OFFSET = re.compile(r"[ \t]*+(?:0x[0-9a-fA-F]{4,16}|[0-9a-fA-F]{4,16}:|0{4,16})[:\s]")
_APART = rf"(?:[\s:,-]|\.(?={_DIGIT}))"
_PLAIN_DIGITS = re.compile(rf"(?:{_APART}|0[xX]{_DIGIT}(?={_APART})|(?:0[xX])?(?:{_DIGIT}{{2}})++(?={_APART}))*+")
_PAIRS = re.compile(rf"(?:{_DIGIT}{{2}})++")

_FOREIGN = re.compile(r"[^A-Za-z0-9+/_=\s-]")
_GROUP = re.compile(r"([^=]*+)(=[=\s]*+)?+")
_WORDS = re.compile(r"(?:[^\S\n]*+\S*+[^\S\n]*+(?:\n|$))*+")
_FLAGS = {3: (0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13), 6: (2, 10), 8: (2, 10), 10: (2, 10)}
"""Possible values of the low half of the first byte, by type; 0 for other types (3.1 has DUP in 6, 8 and 10)."""
URL_SAFE = str.maketrans("-_", "+/")
"""The digits of base64 for URLs as those of standard base64."""


def hex_bytes(run: TextSpan) -> bytes:
    """Return the bytes of pairs of hex digits with usual separators between them."""
    text = run.text
    end = reach(_HEX, text)
    if end < len(text):
        raise bad_digit(run, end)
    return bytes.fromhex(_NOISE.sub("", _SHORT.sub("0", text)))


def digits_end(text: str, *, begins: bool) -> int:
    """Return where a long line of hex can be cut; 0 for a line that is not hex, or is the row of a dump."""
    if begins and _OFFSET.match(text):
        return 0
    return reach(_PLAIN_DIGITS, text) or reach(_PAIRS, text)


def bad_digit(run: TextSpan, pos: int) -> BadText:
    """Return the error for a place where two hex digits should be."""
    text = run.text
    pos = reach(_OPENED, text, pos)
    for sign in _LEFT_OUT:
        if text.startswith(sign, pos):
            return run.error(pos, f"{sign!a} stands for bytes that were left out")
    if _LONE.match(text, pos):
        return run.error(pos, f"{text[pos]!a} is a single hex digit, but a byte needs two")
    pos = reach(_ONE, text, pos)
    if pos == len(text):
        return run.error(pos, "the text ends where a hex digit is expected")
    return run.error(pos, f"{text[pos]!a} is not a hex digit")


def base64_bytes(run: TextSpan) -> bytes:
    """Return the bytes of base64, standard or URL-safe, padded or not."""
    if foreign := _FOREIGN.search(run.text):
        raise run.error(foreign.start(), f"{foreign[0]!a} is not a base64 character")
    return b"".join(_group_bytes(run, found) for found in _GROUP.finditer(run.text))


def _group_bytes(run: TextSpan, found: re.Match[str]) -> bytes:
    body = "".join(found[1].split()).translate(URL_SAFE)
    due, given = -len(body) % 4, (found[2] or "").count("=")
    last = found.start() + len(found[1].rstrip()) - 1
    if due == 3:
        raise run.error(last, f"{len(body)} base64 characters, where {len(body) - 1} or {len(body) + 1} make bytes")
    if given and given != due:
        raise run.error(found.start(2), f"the padding has {given} '=' instead of {due}")
    padded = body + "=" * due
    data = a2b_base64(padded)
    if b2a_base64(data, newline=False).decode() != padded:
        raise run.error(last, f"{run.text[last]!a} has bits that belong to no byte")
    return data


def digits(run: TextSpan) -> TextPiece:
    """Return the piece of hex, or of base64 that cannot be hex."""
    try:
        return run.piece(hex_bytes(run), "hex")
    except BadText:
        if data := _likely_base64(run):
            return run.piece(data, "base64")
        raise


def _likely_base64(run: TextSpan) -> bytes:
    if not _WORDS.fullmatch(run.text):
        return b""
    try:
        data = base64_bytes(run)
    except BadText:
        return b""
    return data if begins_packet(data[0]) else b""


def may_be_base64(run: TextSpan) -> bool:
    """Whether text may be the beginning of a packet in base64."""
    begun = run.text.split(maxsplit=1)[0][:4]
    if _FOREIGN.search(run.text) or "=" in begun or not _WORDS.fullmatch(run.text):
        return False
    return len(begun) == 4 and begins_packet(a2b_base64(begun.translate(URL_SAFE))[0])


def begins_packet(first: int) -> bool:
    """Whether a packet of any version can begin with this byte."""
    number, flags = divmod(first, 16)
    return number > 0 and flags in _FLAGS.get(number, (0,))
