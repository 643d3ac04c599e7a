"""Reading the file of a page: its blocks as the page unpacks them."""

import json
import re
import zlib
from base64 import b64decode, b64encode
from math import isnan
from struct import calcsize, unpack_from
from typing import Any

from mqttpub.view.page.blocks import COLUMNS
from mqttpub.view.page.forms import ID


def blocks(text: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return what the blocks of a page hold: the columns, and the details."""
    return [_block(head, body) for head, body in parts(text)]


def parts(text: str) -> list[list[bytes]]:
    """Return head and body of each block."""
    return [[zlib.decompress(b64decode(part, validate=True)) for part in block] for block in packed(text)]


def packed(text: str) -> list[tuple[str, str]]:
    """Return head and body of each block as the file has them."""
    return re.findall('<script type="text/plain" class="block">(.*)\n(.*)</script>', text)


def _block(head: bytes, body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a block with the values of its forms in each row."""
    (count,), at = unpack_from("<q", head), 8
    columns: dict[str, Any] = {}
    for name, type in COLUMNS:
        columns[name] = list(unpack_from(f"<{count}{type}", head, at))
        at += count * calcsize(f"<{type}")
    columns |= json.loads(head[at:])
    columns["time"] = [None if isnan(each) else each for each in columns["time"]]
    (size,) = unpack_from("<i", body)
    details = json.loads(body[4 : 4 + size])
    details["rows"], rest = [], body[4 + size :]
    strings = columns["strings"]
    for row, form in enumerate(columns["form"]):
        word, length, summary, start, size, _, shown = columns["forms"][form]
        own = strings[summary if columns["summary"][row] < 0 else columns["summary"][row]]
        strings.append(own.replace(ID, str(columns["id"][row])))
        columns["summary"][row] = len(strings) - 1
        for name, value in (("word", word), ("length", length), ("payload", start), ("size", size)):
            columns.setdefault(name, []).append(value)
        place = int(columns["offset"][row]), int(columns["record"][row])
        more = [length] if columns["kind"][row] == 0 else []
        details["rows"].append([b64encode(rest[:shown]).decode(), *place, *details["forms"][form], *more])
        rest = rest[shown:]
    assert rest == b""
    return columns, details
