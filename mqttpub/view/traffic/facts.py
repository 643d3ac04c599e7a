"""The facts of a packet for one line: its identifier, its topic, its Reason Code and so on."""

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...common.escape import escape, json_text
from ...spec.declare import PACKETS, Packet
from ...spec.packets import (
    Connack,
    Connect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from ...spec.properties import ASSIGNED_CLIENT_IDENTIFIER, REASON_STRING
from ...spec.reason_codes import FAILURE
from ...spec.versions import V5, V31, Version
from ...traffic.aliases import Topic
from ...traffic.context import PacketInContext
from ...traffic.events import Endpoints
from ..form.form import shortened
from ..packet.payload import readable_text
from ..terminal.cells import Line, cells, clip, reach

LONGEST = 120
"""Bytes of a payload that are shown at most."""
LONGEST_REMEMBERED = 256
"""Characters of the longest topic or Client Identifier whose text is remembered."""
FIRST_PLAIN, LAST_PLAIN = ord(" "), ord("~")
"""The first and the last character of payloads that previews have as they are; those between are too, but for `\\`."""
_LONGEST_CHARACTER = 4
"""Bytes of a character in UTF-8, at most."""
SHORTEST = 16
"""Cells of the narrowest text that is shortened."""
ACKS = frozenset((Puback, Pubrec, Pubrel, Pubcomp))
"""Acknowledgements of a PUBLISH."""
PINGS = frozenset((Pingreq, Pingresp))
_REASON_STRING = REASON_STRING.id
_ASSIGNED = ASSIGNED_CLIENT_IDENTIFIER.id


class Fact(NamedTuple):
    """A short text with its style."""

    text: str
    """Escaped."""
    style: str
    bends: bool = False
    """Whether it may be shortened to fit."""
    spare: bool = False
    """Whether it may be left out, because another fact shows its size."""

    def shortened(self, text: str) -> "Fact":
        """Return it with a shorter text."""
        return self._replace(text=shortened(self.text, text))


def name_of(data: bytes) -> str:
    """Return the name of a packet type, from the first byte of the packet."""
    code = data[0] >> 4 if data else 0
    return PACKETS[code].name if code in PACKETS else f"TYPE {code}"


def connection_record(ends: Endpoints, client: str) -> dict[str, Any]:
    """Return the JSON members that name a connection; `client` is its Client Identifier, or empty."""
    return {
        "connection": ends.number,
        "client": json_text(client) or None,
        "address": ends.client or None,
        "server": ends.server or None,
    }


def facts(known: PacketInContext) -> list[Fact]:
    """Return the facts of a packet, the most important first."""
    packet = known.packet
    if packet is None:
        return [Fact("unreadable", "gap"), _bytes(len(known.event.data))]
    facts_of = _FACTS_OF.get(packet.name)
    return list(facts_of(known, packet)) if facts_of else []


def least_cells(text: str) -> int:
    """Return the cells of a text that may be shortened, or the number below which it never is."""
    return min(reach(text, SHORTEST), SHORTEST)


def fit(given: Iterable[Fact], room: int | None, gap: int = 2) -> Line:
    """Return facts side by side in at most `room` cells, `gap` spaces apart; shortened ones say how much is missing."""
    shown = list(given) if room is None else _fitting(list(given), room, gap)
    line = [segment for fact in shown for segment in ((" " * gap, ""), (fact.text, fact.style))]
    return line[1:]


def _fitting(given: list[Fact], room: int, gap: int) -> list[Fact]:
    """Return the facts that fit; those that may be shortened share the room that the others leave."""
    least = [_narrowest(fact) for fact in given]
    if _least(least, gap) > room:
        given = [fact for fact in given if not fact.spare]
        least = [_narrowest(fact) for fact in given]
    if _least(least, gap) > room and len(given) > 1:
        count = _first_fitting(least, room, gap)
        more = Fact(f"+{len(given) - count} more", "dim")
        given, least = [*given[:count], more], [*least[:count], len(more.text)]
    extra = max(room - _least(least, gap), 0)
    fitted = []
    for fact, narrowest in zip(given, least, strict=True):
        size = reach(fact.text, room)
        given_room = min(size, narrowest + extra)
        extra -= given_room - narrowest
        fitted.append(fact if size <= given_room else fact.shortened(_cut(fact, given_room)))
    if len(fitted) == 1 and cells(fitted[0].text) > room:
        fitted[0] = fitted[0].shortened(clip(fitted[0].text, room))
    return fitted


def _first_fitting(least: list[int], room: int, gap: int) -> int:
    """Return how many of the first facts fit, with the number of the others after them. Reads each width once."""
    fits = used = 0
    for count, narrowest in enumerate(least[:-1], 1):
        used += narrowest + gap
        if used + len(f"+{len(least) - count} more") <= room:
            fits = count
        elif used > room:
            break
    return fits


def _least(least: list[int], gap: int) -> int:
    """Return the cells that facts need with the gaps between them."""
    return sum(least) + gap * len(least) - gap


def _narrowest(fact: Fact) -> int:
    return least_cells(fact.text) if fact.bends else cells(fact.text)


def _cut(fact: Fact, room: int) -> str:
    """Shorten a text; a payload just ends in dots, because its size is shown beside it."""
    if not fact.spare:
        return clip(fact.text, room)
    text = fact.text.removesuffix("...").removesuffix('"')[: max(room - 3, 0)]
    while text and cells(text) > room - 3:
        text = text[:-1]
    return text + "..."


OUTCOMES = {
    "sent": "", "complete": "", "refused": "error", "unfinished": "warning", "superseded": "warning",
    "orphan": "warning",
}  # fmt: skip
"""The outcomes of an exchange in the order of their columns, with their styles."""

# by kind of packet

_Facts = Iterator[Fact]


def _bytes(count: int) -> Fact:
    return Fact(f"{count} B", "length")


def _id(packet: Any) -> Fact:
    return Fact(f"id {packet.packet_id}", "id")


def _publish(known: PacketInContext, packet: Publish) -> _Facts:
    if packet.packet_id is not None:
        yield _id(packet)
    yield Fact(f"QoS {packet.qos}", "flag")
    if packet.dup:
        yield Fact("DUP", "warning")
    if packet.retain:
        yield Fact("RETAIN", "flag")
    yield from topic_facts(known.topic or Topic(packet.topic))
    yield _bytes(len(packet.payload))
    if packet.payload:
        yield Fact(preview(packet.payload), "payload", bends=True, spare=True)


def topic_facts(topic: Topic) -> _Facts:
    """Yield a topic and its Topic Alias."""
    if topic.name is None:
        yield Fact(topic.text, "gap")
        return
    yield Fact(escape(topic.name) or '""', "topic", bends=True)
    if topic.alias is not None:
        yield Fact(f"({'sets ' if topic.sets else ''}alias {topic.alias})", "property")


def preview(payload: bytes) -> str:
    """Return the start of a payload as quoted text, or as hex for binary data; dots stand for the rest."""
    head = payload[:LONGEST]
    try:
        head.decode()
    except UnicodeDecodeError as error:
        # The cut may be in the middle of a character.
        whole = _whole_characters(head) if len(head) - error.start < _LONGEST_CHARACTER else None
        if whole is None:
            return f"{head.hex(' ')}{'...' if len(head) < len(payload) else ''}"
        head = whole
    text = readable_text(head)
    end = "..." if len(head) < len(payload) else ""
    return f"{head.hex(' ')}{end}" if text is None else f'"{escape(text)}' + (end or '"')


def _whole_characters(data: bytes) -> bytes | None:
    """Return UTF-8 without a character that is cut off at its end; None for other bytes."""
    try:
        return getincrementaldecoder("utf-8")().decode(data).encode()
    except UnicodeDecodeError:
        return None


def _connect(known: PacketInContext, packet: Connect) -> _Facts:
    yield Fact(escape(packet.client_id) or '""', "text", bends=True)
    yield Fact(f"MQTT {known.event.version.label}", "type")
    if packet.clean_start:
        yield Fact("clean start" if known.event.version == V5 else "clean session", "flag")
    yield Fact(f"keep alive {packet.keep_alive} s", "number")
    if packet.username is not None:
        yield Fact(f"user {escape(packet.username)}", "text", bends=True)
    if packet.will:
        yield Fact(f"will QoS {packet.will_qos}{' RETAIN' if packet.will_retain else ''}", "flag")
        yield Fact(escape(packet.will.topic), "topic", bends=True)


def _connack(known: PacketInContext, packet: Connack) -> _Facts:
    yield from _reason(known, packet)
    if packet.session_present:
        yield Fact("session present", "flag")
    for id, value in packet.properties:
        if id == _ASSIGNED:
            yield Fact(f"client {escape(value)}", "text", bends=True)


def _ack(known: PacketInContext, packet: Any) -> _Facts:
    yield from _request(known, packet)
    yield from _reason(known, packet)


def _reason(known: PacketInContext, packet: Any) -> _Facts:
    if packet.reason_code is not None:
        yield reason_fact(packet, packet.reason_code, known.event.version)
    for id, value in packet.properties or ():
        if id == _REASON_STRING:
            yield Fact(f'"{escape(value)}"', "text", bends=True)


def fitted_preview(shown: str, room: int | None) -> str:
    """Return the preview of a payload in at most `room` cells."""
    if room is None or reach(shown, room) <= room:
        return shown
    return _cut(Fact(shown, "payload", bends=True, spare=True), room)


def reason_name(packet: Packet | type[Packet], code: int, version: Version) -> str:
    """Return the name of a Reason Code in a packet."""
    field = packet.fields.get("reason_code") or packet.fields["reason_codes"]
    return field.meaning(code, version)


def reason_fact(packet: Packet | type[Packet], code: int, version: Version) -> Fact:
    """Return a Reason Code with its name, or `unknown`."""
    refused = code >= FAILURE or (packet.name == "CONNACK" and code)
    return Fact(f"0x{code:02x} {reason_word(packet, code, version)}", "error" if refused else "reason")


def reason_word(packet: Packet | type[Packet], code: int, version: Version) -> str:
    """Return the name of a Reason Code in a packet; `unknown` for a code that the packet may not carry."""
    name = reason_name(packet, code, version)
    return "unknown" if name.startswith("reason 0x") else name


def _subscribe(known: PacketInContext, packet: Subscribe) -> _Facts:
    yield from _request(known, packet)
    for each in packet.subscriptions:
        yield Fact(f"QoS {each.qos} {escape(each.filter)}", "topic", bends=True)


def _unsubscribe(known: PacketInContext, packet: Unsubscribe) -> _Facts:
    yield from _request(known, packet)
    for each in packet.filters:
        yield Fact(escape(each) or '""', "topic", bends=True)


def _request(known: PacketInContext, packet: Any) -> _Facts:
    """Yield the Packet Identifier, and DUP, which only 3.1 has beyond PUBLISH."""
    yield _id(packet)
    if known.event.version == V31 and getattr(packet, "dup", False):
        yield Fact("DUP", "warning")


def _answers(known: PacketInContext, packet: Suback | Unsuback) -> _Facts:
    yield _id(packet)
    for code in packet.reason_codes:
        fact = reason_fact(packet, code, known.event.version)
        yield fact if fact.style == "error" or len(packet.reason_codes) == 1 else fact._replace(text=fact.text[:4])


_FACTS_OF: dict[str, Callable[[PacketInContext, Any], _Facts]] = {
    "PUBLISH": _publish,
    "CONNECT": _connect,
    "CONNACK": _connack,
    **dict.fromkeys(("PUBACK", "PUBREC", "PUBREL", "PUBCOMP"), _ack),
    "SUBSCRIBE": _subscribe,
    "UNSUBSCRIBE": _unsubscribe,
    **dict.fromkeys(("SUBACK", "UNSUBACK"), _answers),
    **dict.fromkeys(("DISCONNECT", "AUTH"), _reason),
}
