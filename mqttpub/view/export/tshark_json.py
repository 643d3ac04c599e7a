"""Packets as JSON in the structure that `tshark -T json -x` writes."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from json import dumps

from ...codec.tree import Decoded, Finding
from ...common.times import seconds
from ...traffic.events import PacketSeen
from .tshark_fields import LONGEST_KEPT, MOST_KEPT, NONE, Shown, octets, shown

PROTOCOL_TYPE = 1
"""tshark's number for a protocol instead of a data type."""


def tshark_json(packets: Iterable[tuple[Decoded, PacketSeen | None]], *, secrets: bool = False) -> Iterator[str]:
    """Yield the text of a document in parts: an array with an object for each control packet.

    A field has two members: its value, and `_raw` with `[bytes in hex, position, size, mask, type]`; the position
    counts from the first byte of the packet. As with tshark, objects repeat a key where the packet repeats a field;
    `mqttpub decode --json` does not. Bytes that are not a field are only in `mqtt_raw`. Findings are `_ws.expert`
    members. ASCII only. Secrets are asterisks unless `secrets`.
    """
    yield "["
    before = ""
    for decoded, seen in packets:
        if before:
            yield before + ","
        before = _indented(_packet(decoded, seen, secrets))
    if before:
        yield before
    yield "]"


# Text is indented as a whole, by `replace`: generators of lines within one another took three times as long.


def _packet(decoded: Decoded, seen: PacketSeen | None, secrets: bool) -> str:
    layers = [*([_object("frame", _frame(seen))] if seen else []), *_layers(decoded, secrets)]
    return f"{{\n{_indented(_object('_source', [_object('layers', layers)]))}\n}}"


def _frame(seen: PacketSeen) -> list[str]:
    number = f'"frame.number": "{seen.record}"'
    return [number] if seen.time is None else [number, f'"frame.time_epoch": "{seconds(seen.time, digits=9)}"']


def _layers(decoded: Decoded, secrets: bool) -> Iterator[str]:
    yield f'"mqtt_raw": {_raw(octets(decoded, secrets=secrets), 0, len(decoded.data), 0, PROTOCOL_TYPE)}'
    named = [_member(each) for each in shown(decoded, secrets=secrets) if each.name]
    yield _object("mqtt", [*named, *map(_expert, decoded.findings)])


def _expert(finding: Finding) -> str:
    members = {
        "_ws.expert.message": finding.message, "_ws.expert.severity": finding.severity.capitalize(),
        "mqttpub.statement": finding.statement, "mqttpub.at_fault": finding.at_fault and finding.at_fault.value,
    }  # fmt: skip
    return _object("_ws.expert", [f'"{key}": {dumps(value)}' for key, value in members.items() if value])


def _object(key: str, members: Iterable[str]) -> str:
    inner = ",\n".join(members)
    return f'"{key}": {{\n{_indented(inner)}\n}}' if inner else f'"{key}": {{\n}}'


def _member(field: Shown) -> str:
    return _remembered(field) if len(field.value) <= LONGEST_KEPT else _made(field)


def _made(field: Shown) -> str:
    start, stop = field.span
    members = [f'"{field.name}_raw": {_raw(field.value, start, stop - start, field.mask, field.type)}']
    key = field.name
    if field.type != NONE:
        members.append(f'"{key}": {dumps(_text(field.show))}')
        key += "_tree"
    if field.children:
        members.append(_object(key, [_member(each) for each in field.children if each.name]))
    return ",\n".join(members)


_remembered = lru_cache(MOST_KEPT)(_made)


def _text(show: str) -> str:
    """Return text with U+FFFD for bytes that are not UTF-8, which JSON cannot represent; `_raw` has the bytes."""
    return show.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _raw(value: str, start: int, size: int, mask: int, type: int) -> str:
    return f'["{value}", {start}, {size}, {mask}, {type}]'


def _indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")
