"""The mini notation in which vectors write bytes.

A text is pieces with spaces between them: hex (`0007`), text in UTF-8 (`'request'`), bits as the
figures of the specification draw them (`%0011_0010`). `*3` behind a piece repeats it.
"""

import re

_PIECE = re.compile(
    r"\s*(?:'(?P<text>[^']*)'|%(?P<bits>[01_]+)|(?P<hex>(?:[0-9A-Fa-f]{2})+))(?:\*(?P<times>\d+))?(?=\s|$)"
)


def parse(text: str) -> bytes:
    """Return the bytes that a text in the mini notation stands for; raises ValueError."""
    made = bytearray()
    pos = 0
    text = text.rstrip()
    while pos < len(text):
        match = _PIECE.match(text, pos)
        if not match:
            raise ValueError(f"no piece of bytes at {text[pos:]!r}")
        made += _piece(match) * int(match["times"] or 1)
        pos = match.end()
    return bytes(made)


def _piece(match: re.Match[str]) -> bytes:
    if match["text"] is not None:
        return match["text"].encode()
    if match["hex"]:
        return bytes.fromhex(match["hex"])
    digits = match["bits"].replace("_", "")
    if len(digits) % 8:
        raise ValueError(f"{len(digits)} bits are no whole bytes")
    return int(digits, 2).to_bytes(len(digits) // 8, "big")
