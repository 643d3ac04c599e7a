"""Packets into the text of steps."""

import re
from collections.abc import Iterator
from typing import Any

from ..codec.decode import decode_packet
from ..common.bad_text import BadText
from ..spec.declare import Field, Group, Packet, Property
from ..spec.packets import Publish, Subscription
from ..spec.properties import ASSIGNED_CLIENT_IDENTIFIER, PROPERTIES
from ..spec.versions import Direction, Version
from ..wire.types import PAIR, STRING
from .names import SHORT_NAMES
from .packets import StepContext, defaults, packet_bytes
from .reader import read_line
from .steps import PacketStep

_PLAIN = re.compile(r"[^\s;\"\\]++")
_NOT_IN_DEFAULT = re.compile(r"[^A-Za-z0-9_.:/-]++")
_FORMS = ("hex:", "base64:", "text:")
_TEXT = str.maketrans({
    "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\", "$": "\\$",
})  # fmt: skip
_LETTERS = frozenset(["qos", "dup", "retain"])
"""Fields that are written as a letter and a digit."""


class ConnectionWriter:
    """Writes the packets of one connection as steps; what the server chose becomes variables with its value."""

    def __init__(self, version: Version, numbers: Iterator[int]) -> None:
        self.version = version
        self._numbers = numbers
        """Numbers for variables, which no other connection of the script uses."""
        self._names: dict[int, str] = {}
        """The variable of each Packet Identifier that the server has in use."""

    def step(self, data: bytes, direction: Direction) -> str:
        """Return the step for the bytes of a packet; those that no words give are `raw`."""
        packet = decode_packet(data, self.version)
        if packet is not None:
            text = " ".join((direction.mark, type(packet).__name__.lower(), *self._words(packet, direction)))
            if _reads_back(text, data, self.version):
                return text
        return f"{direction.mark} raw {data.hex()}"

    def _words(self, packet: Packet, direction: Direction) -> Iterator[str]:
        own = defaults(type(packet))
        for field in packet.layout:
            value = getattr(packet, field.key)
            if not field.exists_in(self.version) or _implied(field, packet, value, self.version, own):
                continue
            if field.key == "packet_id":
                yield f"i={self._identifier(packet, value, direction)}"
            elif field.shape == "properties":
                yield from self._properties(value, "") if value else ("properties=",)
            elif field.shape == "group":
                yield from self._will(value)
            else:
                yield _word(field, value)

    def _identifier(self, packet: Packet, value: int, direction: Direction) -> str:
        """Return a Packet Identifier; one that the server chose as the variable of its exchange."""
        if isinstance(packet, Publish) and direction is Direction.SERVER:
            if value not in self._names:
                self._names[value] = f"$m{next(self._numbers)}"
            return f"{self._names[value]}:{value}"
        name = self._names.get(value)
        if name is None or direction is not _RECEIVERS.get(packet.name):
            return str(value)
        if packet.name in ("PUBACK", "PUBCOMP"):
            del self._names[value]
        return f"{name}:{value}"

    def _will(self, will: Group) -> Iterator[str]:
        for field in will.layout:
            value = getattr(will, field.key)
            if field.shape == "properties":
                yield from self._properties(value, "will.")
            else:
                yield f"will.{field.key}={_value(field.type, value)}"

    def _properties(self, values: tuple[Property, ...], before: str) -> Iterator[str]:
        for id, value in values:
            row = PROPERTIES.get(id)
            if row is None:
                return
            if row is ASSIGNED_CLIENT_IDENTIFIER:
                default = _NOT_IN_DEFAULT.sub(lambda found: _bytes_escaped(found[0]), value)
                yield f"{row.key}=${{id{next(self._numbers)}:{default}}}"
            else:
                yield f"{before}{row.key}={_value(row.type, value)}"


_ALWAYS = {"CONNECT": ("keep_alive",), "CONNACK": ("session_present", "reason_code")}
"""Fields that are named even with their defaults: where such a line is awaited, what it does not name is free."""
_RECEIVERS = {
    "PUBACK": Direction.CLIENT, "PUBREC": Direction.CLIENT, "PUBREL": Direction.SERVER, "PUBCOMP": Direction.CLIENT,
}  # fmt: skip
"""Which end sends each packet that follows a PUBLISH of the server."""


def _reads_back(text: str, data: bytes, version: Version) -> bool:
    """Whether a step gives the bytes that it was written for."""
    try:
        (step,) = read_line(text)
        bindings: dict[str, int | bytes] = {}
        return isinstance(step, PacketStep) and packet_bytes(step, StepContext(version, bindings, {})) == data
    except BadText:
        return False


def _implied(field: Field, packet: Packet, value: Any, version: Version, own: dict[str, Any]) -> bool:
    """Whether a field has its value without being named."""
    if field.key in own or field.key in _ALWAYS.get(packet.name, ()):
        return False
    if field.derived:
        return bool(value) == (getattr(packet, field.derived) is not None)
    if field.fixed:
        return value in (None, field.fixed[version])
    return bool(value == field.default)


def _word(field: Field, value: Any) -> str:
    if field.key in ("reason_code", "reason_codes"):
        codes = value if isinstance(value, tuple) else (value,)
        return f"c={','.join(f'0x{code:02x}' for code in codes)}"
    if field.key in _LETTERS:
        return f"{SHORT_NAMES[field.key]}{int(value)}"
    if field.shape == "list":
        return f"f={','.join(map(_filter, value))}"
    name = SHORT_NAMES.get(field.key, field.key)
    return f"{name}={_value(field.type, value)}"


def _filter(each: Subscription | str) -> str:
    if isinstance(each, str):
        return quoted(each, ",")
    options = [f"q{each.qos}"] if each.qos else []
    options += [f"rh{each.retain_handling}"] if each.retain_handling else []
    options += [name for name, on in (("rap", each.retain_as_published), ("nl", each.no_local)) if on]
    return ":".join([quoted(each.filter, ",:"), *options])


def _value(type: Any, value: Any) -> str:
    if isinstance(value, int):
        return str(int(value))
    if type is PAIR:
        return f"{quoted(value[0], ':')}:{quoted(value[1])}"
    return quoted(value) if type is STRING else bytes_text(value)


def bytes_text(data: bytes) -> str:
    """Return bytes as a word: text where they are printable UTF-8, otherwise hex."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"hex:{data.hex()}"
    if not text.translate({9: "", 10: "", 13: ""}).isprintable():
        return f"hex:{data.hex()}"
    return f'"{text.translate(_TEXT)}"' if text.startswith(_FORMS) else quoted(text)


def quoted(text: str, special: str = "") -> str:
    """Return text as a word or a part of one, in quotation marks if it has blanks or one of `special`."""
    plain = _PLAIN.fullmatch(text) and text.isprintable() and "${" not in text
    return text if not text or (plain and not set(special) & set(text)) else f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Return text with an escape for what cannot stand between quotation marks, and for what is not printable."""
    return "".join(_character(each) for each in text)


def _character(character: str) -> str:
    if ord(character) in _TEXT:
        return str(_TEXT[ord(character)])
    if character.isprintable():
        return character
    return _bytes_escaped(character)


def _bytes_escaped(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode("utf-8", "surrogateescape"))
