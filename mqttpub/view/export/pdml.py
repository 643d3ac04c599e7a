"""Packets as PDML, in the structure that `tshark -T pdml` writes."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from html import escape as quoted

from ...codec.tree import Decoded, Finding
from ...common.escape import escape
from ...common.times import iso, seconds
from ...traffic.events import PacketSeen
from .tshark_fields import LONGEST_KEPT, MOST_KEPT, NONE, PROTOCOL, Shown, shown

_SEVERITIES = {"error": "Error", "warning": "Warning", "note": "Note"}


def pdml(
    packets: Iterable[tuple[Decoded, PacketSeen | None]], *, secrets: bool = False, source: str = ""
) -> Iterator[str]:
    """Yield the text of a document in parts, with a `packet` element for each control packet.

    Names, sizes, `show`, `value` and `unmaskedvalue` of fields are those of tshark; `showname` gives their meaning in
    the words of the specification. `pos` counts from the first byte of the packet, as in tshark for a packet put
    together from segments; otherwise tshark counts from the frame. Findings are `_ws.expert` fields. Text is escaped,
    backslashes too, so that the escapes can be undone. Secrets are asterisks unless `secrets`. `source` names the
    capture.
    """
    file = f" capture_file={_quote(source)}" if source else ""
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield f'<pdml version="0" creator="mqttpub"{file}>'
    for decoded, seen in packets:
        yield from packet(decoded, seen, secrets=secrets)
    yield "</pdml>"


def packet(decoded: Decoded, seen: PacketSeen | None = None, *, secrets: bool = False) -> Iterator[str]:
    """Yield the text of one `packet` element in parts; `seen` has its number, its time and its two ends."""
    size = len(decoded.data)
    yield "<packet>"
    if seen is not None:
        yield from _general(seen, size)
        yield from _ends(seen)
    yield f'  <proto name="mqtt" showname={_quote(f"{PROTOCOL}, {decoded.name}")} size="{size}" pos="0">'
    for each in shown(decoded, secrets=secrets):
        yield _field(each, "    ")
    for finding in decoded.findings:
        yield from _expert(finding)
    yield "  </proto>"
    yield "</packet>"


def _general(seen: PacketSeen, size: int) -> Iterator[str]:
    facts = [
        ("num", "Number", str(seen.record), f"{seen.record:x}"),
        ("len", "Packet Length", str(size), f"{size:x}"),
    ]
    if seen.time is not None:
        facts.append(("timestamp", "Captured Time", iso(seen.time, digits=9), seconds(seen.time, digits=9)))
    yield f'  <proto name="geninfo" pos="0" showname="General information" size="{size}">'
    for name, label, show, value in facts:
        yield f'    <field name="{name}" pos="0" show="{show}" showname="{label}" value="{value}" size="{size}"/>'
    yield "  </proto>"


def _ends(seen: PacketSeen) -> Iterator[str]:
    ends = seen.ends
    if not (ends.client and ends.server):
        return
    between = (ends.client, ends.server)
    source, target = between[::-1] if seen.direction and seen.direction.value == "server" else between
    words = f"Transmission Control Protocol, {source} to {target}"
    yield f'  <proto name="tcp" showname={_quote(words)} size="0" pos="0">'
    stream = ends.number - 1
    yield f'    <field name="tcp.stream" showname="Stream index: {stream}" size="0" pos="0" show="{stream}"/>'
    yield "  </proto>"


def _field(field: Shown, indent: str) -> str:
    return _remembered(field, indent) if len(field.value) <= LONGEST_KEPT else _made(field, indent)


def _made(field: Shown, indent: str) -> str:
    start, stop = field.span
    names = f'name="{field.name}" showname={_quote(field.words)}' if field.name else 'name=""'
    octets = field.value if field.type != NONE or not field.name else ""
    value = f' value="{octets}"' if octets or field.children else ""
    unmasked = f' unmaskedvalue="{field.unmasked}"' if field.unmasked else ""
    line = f'<field {names} size="{stop - start}" pos="{start}" show={_quote(field.show)}{value}{unmasked}'
    if not field.children:
        return f"{indent}{line}/>"
    inner = [_field(child, indent + "  ") for child in field.children]
    return "\n".join([f"{indent}{line}>", *inner, f"{indent}</field>"])


_remembered = lru_cache(MOST_KEPT)(_made)


def _expert(finding: Finding) -> Iterator[str]:
    start, stop = finding.span
    severity = _SEVERITIES[finding.severity]
    place = f'size="{stop - start}" pos="{start}"'
    words = f"Expert Info ({severity}/Protocol): {finding.message}"
    yield f'    <field name="_ws.expert" showname={_quote(words)} {place}>'
    yield f'      <field name="_ws.expert.message" {place} show={_quote(finding.message)}/>'
    yield f'      <field name="_ws.expert.severity" {place} show="{severity}"/>'
    if finding.statement:
        yield f'      <field name="mqttpub.statement" {place} show={_quote(finding.statement)}/>'
    if finding.at_fault:
        yield f'      <field name="mqttpub.at_fault" {place} show="{finding.at_fault.value}"/>'
    yield "    </field>"


def _quote(text: str) -> str:
    return f'"{quoted(escape(text))}"'
