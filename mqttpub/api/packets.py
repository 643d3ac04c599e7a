"""Bytes and packets: decoding and encoding, and properties and Reason Codes by their names."""

from collections.abc import Iterable
from typing import Any

from ..codec import decode as decoder
from ..codec import encode as encoder
from ..codec.tree import Decoded
from ..common.errors import UserError
from ..lint.packet.check import lint
from ..spec.declare import Packet, Properties, Property
from ..spec.properties import BY_KEY, PROPERTIES
from ..spec.reason_codes import REASONS, Codes
from ..spec.versions import Direction, Version
from ..wire.types import PAIR

Bytes = bytes | bytearray | memoryview
"""What holds bytes."""


def version_of(version: str | Version) -> Version:
    """Return the version that a text such as `5.0` names; raises ValueError."""
    return version if isinstance(version, Version) else Version.named(version)


def direction_of(direction: str | Direction | None) -> Direction | None:
    """Return the end that `client` or `server` names; raises ValueError."""
    return Direction(direction) if isinstance(direction, str) else direction


def decode(data: Bytes, version: str | Version = "5.0", direction: str | Direction | None = None) -> Decoded:
    """Return the tree of one packet: every field with its place, and every violation.

    `data` is all bytes of the packet, complete or not; they never raise. A CONNECT is read in the version that it
    announces, any other packet in `version`: 3.1, 3.1.1 or 5.0. `direction`, the end that sent it, is `client` or
    `server`; None leaves out the rules that depend on it. `packet` of the result has the values, None if bytes are
    missing; `findings` has what breaks the format or another rule, each with its statement and its bytes. Spans are in
    bytes from the first byte of the packet. Raises ValueError for an unknown version or direction. (5.0: 2.1)
    """
    decoded = decoder.decode(bytes(data), version_of(version), direction=direction_of(direction))
    decoded.findings = lint(decoded)
    return decoded


def encode(packet: Packet, version: str | Version = "5.0") -> bytes:
    """Return the bytes of a packet.

    Whatever can be written is written, even if it is forbidden; `check` says what is. Raises ValueError for a value
    that does not fit its field, and for a field or a packet that the version does not have. (5.0: 2.1)
    """
    return encoder.encode(packet, version_of(version))


def dump(decoded: Decoded, *, width: int = 80, secrets: bool = False) -> str:
    """Return the annotated bytes of a packet, as `mqttpub decode` shows them, without colours.

    `width` is in characters, 60 or more. Passwords are masked unless `secrets`; characters of a peer that would act
    on a terminal are escaped.
    """
    from ..view.packet.dump import annotate, headline, plain

    return plain([headline(decoded, width=width), *annotate(decoded, width=width, secrets=secrets)])


def properties(**values: Any) -> Properties:
    """Return properties by their names in lower case: `properties(message_expiry_interval=60)`.

    A list gives a property once for each of its items, in their order. A User Property is a pair of strings, or a
    dict of them; the value of a binary property is bytes, of any other a number or a string. Raises TypeError for a
    name that no property has; `encode` raises for a value that does not fit. (5.0: 2.2.2.2)
    """
    made: list[Property] = []
    for name, value in values.items():
        row = BY_KEY.get(name)
        if row is None:
            raise TypeError(f"there is no property {name!r}{_meant(name, BY_KEY)}")
        given = list(value.items()) if row.type is PAIR and isinstance(value, dict) else value
        made.extend(Property(row.id, each) for each in (given if isinstance(given, list) else [given]))
    return tuple(made)


def property_values(packet: Packet) -> dict[str, Any]:
    """Return the properties of a packet by their names in lower case, those that were repeated as lists.

    User Properties are always a list of pairs. An unknown Property Identifier is named `unknown_0x..`, and its value
    is bytes. Packets without properties give an empty dict. (5.0: 2.2.2.2)
    """
    named: dict[str, Any] = {}
    repeated: dict[str, list[Any]] = {}
    for id, value in getattr(packet, "properties", None) or ():
        row = PROPERTIES.get(id)
        name = row.key if row else f"unknown_0x{id:02x}"
        repeated.setdefault(name, []).append(value)
        named[name] = repeated[name] if (row and row.type is PAIR) or len(repeated[name]) > 1 else value
    return named


def reason_code(name: str) -> int:
    """Return the Reason Code of MQTT 5.0 that a name of the specification stands for, whatever its case.

    `reason_code("Not authorized")` is 0x87. Raises ValueError for a name that the specification does not have.
    (5.0: 2.4)
    """
    wanted = name.lower()
    for row in REASONS:
        if row.name.lower() == wanted:
            return row.code
    raise UserError(f"there is no Reason Code {name!r}{_meant(wanted, [row.name.lower() for row in REASONS])}")


def reason_name(code: int, packet: str = "PUBACK", version: str | Version = "5.0") -> str:
    """Return the name of a Reason Code, or before 5.0 of a return code, in a packet such as `CONNACK`.

    A code that the packet cannot carry has the name `reason 0x..`. Raises ValueError for an unknown version.
    (5.0: 2.4)
    """
    return Codes(packet.upper()).name(code, version_of(version))


def _meant(word: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown word: the known one that is nearest to it, if any is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""
