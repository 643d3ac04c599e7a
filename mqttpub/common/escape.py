"""The one way that foreign text takes to a terminal, to stderr or into a line of a record."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


class _Table(dict[int, str]):
    """A table for `str.translate` that works a character out when it first meets it."""

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
    """Return `text` with all that is not printable, and every backslash, written as an escape.

    `\\xNN` stands for a byte, so U+0085 is `\\u0085` and the invalid byte 85 is `\\x85`.
    """
    return text if text.isprintable() and "\\" not in text else text.translate(_TABLE)


def remark(text: str) -> str:
    """Escape text that is our own or has its own escapes already, such as JSON: backslashes stay."""
    return text if text.isprintable() else text.translate(_REMARKS)


def escape_bytes(data: bytes) -> str:
    """Return bytes as escaped text; those that are not UTF-8 as `\\xNN`."""
    return escape(data.decode("utf-8", "surrogateescape"))


def json_text(text: str) -> str | dict[str, str]:
    """Return a string as JSON has it: one that is not Unicode, because a peer sent other bytes, as those in hex."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return {"hex": text.encode("utf-8", "surrogateescape").hex()}
    return text


_ASCII = bytes(code if 0x20 <= code < 0x7F else ord(".") for code in range(256))


def ascii_column(data: bytes) -> str:
    """Return a character for each byte, a dot for those that are not printable ASCII."""
    return data.translate(_ASCII).decode("ascii")
