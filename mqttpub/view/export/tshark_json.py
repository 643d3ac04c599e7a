"""Packets as JSON in the structure that `tshark -T json -x` writes."""

from collections.abc import Iterable, Iterator
from json import dumps

from ...codec.tree import Decoded, Finding
from ...common.times import seconds
from ...traffic.events import PacketSeen
from .tshark_fields import NONE, Shown, octets, shown

PROTOCOL_TYPE = 1
"""tshark's number for a protocol instead of a data type."""


def tshark_json(packets: Iterable[tuple[Decoded, PacketSeen | None]], *, secrets: bool = False) -> Iterator[str]:
    """Yield the lines of a document: an array with an object for each control packet.

    A field has two members: its value, and `_raw` with `[bytes in hex, position, size, mask, type]`; the position
    counts from the first byte of the packet. As with tshark, objects repeat a key where the packet repeats a field;
    `mqttpub decode --json` does not. Bytes that are not a field are only in `mqtt_raw`. Findings are `_ws.expert`
    members. ASCII only. Secrets are asterisks unless `secrets`.
    """
    yield "["
    before: list[str] = []
    for decoded, seen in packets:
        if before:
            yield from (*before[:-1], before[-1] + ",")
        before = list(_indented(_packet(decoded, seen, secrets), "  "))
    yield from before
    yield "]"


def _packet(decoded: Decoded, seen: PacketSeen | None, secrets: bool) -> Iterator[str]:
    frame = _frame(seen) if seen else None
    layers = [*([_object("frame", frame)] if frame else []), *_layers(decoded, secrets)]
    yield "{"
    yield from _indented(_object("_source", _object("layers", _joined(layers))), "  ")
    yield "}"


def _frame(seen: PacketSeen) -> Iterator[str]:
    yield f'"frame.number": "{seen.record}"' + ("" if seen.time is None else ",")
    if seen.time is not None:
        yield f'"frame.time_epoch": "{seconds(seen.time, digits=9)}"'


def _layers(decoded: Decoded, secrets: bool) -> Iterator[Iterable[str]]:
    yield [f'"mqtt_raw": {_raw(octets(decoded, secrets=secrets), 0, len(decoded.data), 0, PROTOCOL_TYPE)}']
    named = [_member(each) for each in shown(decoded, secrets=secrets) if each.name]
    yield _object("mqtt", _joined([*named, *map(_expert, decoded.findings)]))


def _expert(finding: Finding) -> Iterator[str]:
    members = {
        "_ws.expert.message": finding.message, "_ws.expert.severity": finding.severity.capitalize(),
        "mqttpub.statement": finding.statement,
    }  # fmt: skip
    return _object("_ws.expert", _joined([f'"{key}": {dumps(value)}'] for key, value in members.items() if value))


def _object(key: str, lines: Iterable[str]) -> Iterator[str]:
    yield f'"{key}": {{'
    yield from _indented(lines, "  ")
    yield "}"


def _joined(members: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of members, with a comma after each member but the last."""
    held = ""
    for member in members:
        held += "," if held else ""
        for line in member:
            if held:
                yield held
            held = line
    if held:
        yield held


def _member(field: Shown) -> Iterator[str]:
    start, stop = field.span
    yield f'"{field.name}_raw": {_raw(field.value, start, stop - start, field.mask, field.type)},'
    key = field.name
    if field.type != NONE:
        yield f'"{key}": {dumps(_text(field.show))}' + ("," if field.children else "")
        key += "_tree"
    if field.children:
        yield from _object(key, _joined(_member(each) for each in field.children if each.name))


def _text(show: str) -> str:
    """Return text with U+FFFD for bytes that are not UTF-8, which JSON cannot represent; `_raw` has the bytes."""
    return show.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _raw(value: str, start: int, size: int, mask: int, type: int) -> str:
    return f'["{value}", {start}, {size}, {mask}, {type}]'


def _indented(lines: Iterable[str], indent: str) -> Iterator[str]:
    return (indent + line for line in lines)
