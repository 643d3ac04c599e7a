"""The text of scripts with asterisks in place of secrets, for messages that quote it."""

import re

from ...codec.from_json import plain_key
from ...common.bad_text import BadText
from ...spec.packets import PACKETS
from ...spec.properties import PROPERTIES
from ...spec.versions import Version
from ...view.packet.masking import without_secrets

_SECRETS = frozenset(
    [field.key for packet in PACKETS.values() for field in packet.layout if field.kind == "secret"]
    + [row.key for row in PROPERTIES.values() if row.secret]
)
"""Names of the words whose values are secret."""
_WORD = re.compile(r"""(?<![^\s;])(?P<name>[^\s;="]++)=(?P<value>(?:"(?:\\.|[^"\\])*+"?|[^\s;"])++)""")
"""A word with a value; an open quotation mark takes the rest of the line."""
_BYTES = re.compile(r"""(?:[<>][?*]?\s*|\braw\s+)(?P<value>[0-9a-fA-F]{2}(?:\s*[0-9a-fA-F]{2})*+)""")
_DIGIT = re.compile(r"\S")
_QUOTED = re.compile(r"""'(?:\\.|[^'\\])*+'|"(?:\\.|[^"\\])*+\"""")


def masked(source: str) -> str:
    """Return a line of a script, or a part of one, with an asterisk for each character of a secret.

    Columns stay what they are. Bytes with a secret, such as those of a CONNECT with a password, are masked as a whole.
    """
    found = _BYTES.sub(_masked_bytes, source)
    return _WORD.sub(_masked_word, found)


def masked_message(error: BadText) -> str:
    """Return what is wrong with a line, without what it quotes of a secret."""
    at = error.column - 1
    inside = any(_is_secret(word) and word.start() <= at < word.end() for word in _WORD.finditer(error.source))
    return _QUOTED.sub("'***'", error.message) if inside else error.message


def _is_secret(word: re.Match[str]) -> bool:
    return plain_key(word["name"]) in _SECRETS


def _masked_word(word: re.Match[str]) -> str:
    return f"{word['name']}={'*' * len(word['value'])}" if _is_secret(word) else word[0]


def _masked_bytes(found: re.Match[str]) -> str:
    data = bytes.fromhex(found["value"])
    if without_secrets(data, Version.V5, None) == data:
        return found[0]
    before = found[0][: found.start("value") - found.start()]
    return before + _DIGIT.sub("*", found["value"])
