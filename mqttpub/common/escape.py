"""Escaping text that a peer sent, as all such text is on its way to a terminal, stderr or a line of a record."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


class _Table(dict[int, str]):
    """A table for `str.translate` that computes the escape of a character on first use."""

    def __missing__(self, code: int) -> str:
        shown = self[code] = _escaped(chr(code))
        return shown


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, kept by `surrogateescape`
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


_TABLE = _Table()
_REMARKS = _Table({ord("\\"): "\\"})


def escape(text: str) -> str:
    """Return `text` with an escape for every backslash and every character that is not printable.

    `\\xNN` stands for a byte: the character U+0085 becomes `\\u0085`, the byte 85, which is not UTF-8, `\\x85`.
    """
    return text if text.isprintable() and "\\" not in text else text.translate(_TABLE)


def remark(text: str) -> str:
    """Escape text that is not a peer's, or is escaped already, such as JSON: backslashes stay."""
    return text if text.isprintable() else text.translate(_REMARKS)


def json_text(text: str) -> str | dict[str, str]:
    """Return a string for JSON; one that is not Unicode, as a peer sent other bytes, becomes `{"hex": ...}`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"hex": text.encode("utf-8", "surrogateescape").hex()}
    return text


_ASCII = bytes(code if 0x20 <= code < 0x7F else ord(".") for code in range(256))


def ascii_column(data: bytes) -> str:
    """Return one character for each byte, a dot for every byte that is not printable ASCII."""
    return ascii_octets(data).decode("ascii")


def ascii_octets(data: bytes) -> bytes:
    """Return `ascii_column` as bytes."""
    return data.translate(_ASCII)
