"""One JSON object for each packet, made fast: a capture of a gigabyte has ten million of them.

Keys of a packet, in this order; what does not apply is left out:

| key | value |
| --- | --- |
| `file` | where there are several: the name of the file that the packet is from |
| `record` | number of the record in the capture that completed the packet, from 1 |
| `time` | ISO 8601 in UTC, or null |
| `connection` | number of the connection, from 1 |
| `client` | Client Identifier, or null |
| `address`, `server` | address and port of the two ends, or null |
| `direction` | `client` or `server`: the end that sent it; or null |
| `version` | `5.0`, `3.1.1` or `3.1` |
| `guessed` | true if no CONNECT of this connection was captured, so that the version is a guess |
| `type` | `PUBLISH` and so on |
| `qos`, `dup`, `retain` | of PUBLISH |
| `packet_id` | Packet Identifier |
| `topic` | of PUBLISH, with the alias resolved; null when the alias was never set |
| `alias` | Topic Alias |
| `length` | bytes of the packet |
| `payload_length` | bytes of the payload of PUBLISH |
| `reason_code`, `reason` | number and name |
| `reason_codes`, `reasons` | the same of SUBACK and UNSUBACK |
| `filters` | list of Topic Filters of SUBSCRIBE and UNSUBSCRIBE |
| `client_id`, `keep_alive`, `clean_start`, `will_topic` | of CONNECT |
| `session_present` | of CONNACK |
| `unreadable` | true when the bytes do not hold the fields of the packet |
| `verdict` | `ok`, or the statement of the worst finding, or its severity where no statement is broken |
| `findings` | list of severity, path, offset, length, mask, message, statement |
| `findings_left_out` | how many there are beyond the first 100 |

Other events have `record`, `time`, `connection`, `client`, `address`, `server`, `direction` as well, and
`event`: `gap` (with `offset`, `length`, `malformed`, `message`), `closed` (with `how`: FIN, RST or end), `remark`
(with `message`). A string that is no UTF-8 is an object: `{"hex": "ff00"}`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, repeat
from json import dumps
from typing import Any

from ...codec.tree import Finding
from ...common.escape import json_text
from ...common.lru import BoundedMemo
from ...common.times import DIGITS, SECOND_NS, iso, whole_second
from ...spec.declare import PACKETS, Packet
from ...spec.packets import PACKETS_BY_NAME, Connack, Connect, Publish, Suback, Subscribe, Unsuback, Unsubscribe
from ...spec.versions import Direction, Version
from ...traffic.aliases import Topic
from ...traffic.context import PacketInContext
from ...traffic.events import Closed, Endpoints, GapSeen, PacketSeen, Remark
from ...traffic.exchanges import filters_of
from ...traffic.runs import PacketRun, RunOrItem, ends_of
from ..form.form import ID, SIZE, TOPIC, Form, Slot
from ..packet.verdict import finding_record, verdict, worst
from .facts import LONGEST_REMEMBERED, name_of, reason_name

MOST_KEPT = 10_000
"""Topics and connections whose JSON text is kept."""
MOST_FINDINGS = 100
"""Findings of one packet that are written; the others are counted."""

_Heads = tuple[str, Version, bool, str, str, str]
"""Client Identifier, version and whether it is guessed; then the start of the lines of a connection, by sender."""


_BEGIN, _PAYLOAD_SIZE = "begin", "payload_size"
_KINDS = _BEGIN, ID, TOPIC, SIZE, _PAYLOAD_SIZE
"""The slots of the lines of runs: all before the type, the member for the Packet Identifier, topic and sizes."""


class JsonLines:
    """Writes the lines, without line ends; keeps the JSON text of at most `most_kept` connections and topics."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        self.heads: BoundedMemo[int, _Heads] = BoundedMemo(most_kept)
        """The start of the lines of each connection."""
        self.topics: BoundedMemo[str, str] = BoundedMemo(most_kept)
        """Topics in JSON."""
        self.forms: BoundedMemo[tuple[int, int | None, int], Callable[[Sequence[str]], str]] = BoundedMemo(most_kept)
        """What fills the form of packets of runs, by first byte, Reason Code and number of the version."""
        self._reasons: dict[int, str] = {}
        self._start = _NEVER
        self._stamp = ""

    def line(self, known: RunOrItem) -> str:
        """Return the line of a packet or of another event; of a run those of its packets, with line ends between."""
        if isinstance(known, PacketRun):
            return self._run(known)
        if isinstance(known, PacketInContext):
            return self.packet(*known)
        head = self.heads.get(known.ends.number)
        return event_line(known, head[0] if head else "")

    def packet(
        self, event: PacketSeen, packet: Packet | None, topic: Topic | None = None, client: str = "",
        findings: Sequence[Finding] | None = None,
    ) -> str:  # fmt: skip
        """Return the line of a packet; the arguments are the parts of a PacketInContext."""
        ends, time, record, data, _, direction, version, guessed = event
        begun = self._begin(record, time) + self._head(ends, client, version, guessed, direction)
        kind = _KINDS_OF_BYTES[data[0]] if data else _NOTHING
        end = "}" if findings is None else _judged(findings) if findings else _OK
        if type(packet) is not Publish:
            members_of = _MEMBERS_OF.get(type(packet))
            more = members_of(self, packet, version) if members_of else ""
            return f"{begun}{''.join(_other(kind, '', more, str(len(data))))}{end}"
        name = packet.topic
        also = ""
        if topic and topic.alias is not None:
            name, also = topic.name, f',"alias":{topic.alias}'  # type: ignore[assignment]
        text = self.topics.get(name) or self._quoted(name)
        size, payload_size = str(len(data)), str(len(packet.payload))
        return f"{begun}{''.join(_message(kind, _id(packet.packet_id), text, also, size, payload_size))}{end}"

    def _run(self, run: PacketRun) -> str:
        columns, rows, version = run.columns, slice(run.start, run.stop), int(run.version)
        first, reasons, names = columns.first[rows], columns.reason[rows], columns.topic[rows]
        forms: list[Any] = list(map(self.forms.get, zip(first, reasons, repeat(version))))
        if not all(forms):
            for at, key in enumerate(zip(first, reasons, repeat(version))):
                forms[at] = self.forms.get(key) or self._form(key, run.item(run.start + at))
        topics = list(map(self.topics.get, names))
        if not all(topics):
            topics = [topic or self._quoted(name) for topic, name in zip(topics, names, strict=True)]
        head = self._head(run.ends, run.client, run.version, run.guessed, run.direction)
        begins = self._begins(columns.record[rows], columns.time_ns[rows], head)
        # A PUBLISH of QoS 0 has no Packet Identifier, which is 0 in the columns.
        ids = [_id(id or None) for id in columns.packet_id[rows]]
        sizes, payload_sizes = map(str, columns.size[rows]), map(str, run.payload_sizes())
        made = zip(forms, begins, ids, topics, sizes, payload_sizes, strict=True)
        return "\n".join([fill(values) for fill, *values in made])

    def _begins(self, records: list[int], times_ns: list[int | None], head: str) -> list[str]:
        """Return the beginnings of lines of one end; many packets of a run are from the same record."""
        last_record, last_ns, begun, begins = -1, None, "", []
        for record, time_ns in zip(records, times_ns, strict=True):
            if record != last_record or time_ns != last_ns:
                last_record, last_ns, begun = record, time_ns, self._begin(record, time_ns) + head
            begins.append(begun)
        return begins

    def _form(self, key: tuple[int, int | None, int], known: PacketInContext) -> Callable[[Sequence[str]], str]:
        """Return what fills the form of the packets of runs that are like this one; keep it, there are few of them."""
        kind, id, size = _KINDS_OF_BYTES[key[0]], Slot("", ID), Slot("", SIZE)
        if type(known.packet) is Publish:
            parts = _message(kind, id, Slot("", TOPIC), "", size, Slot("", _PAYLOAD_SIZE))
        else:
            parts = _other(kind, id, self._closing(known.packet, known.event.version), size)
        return self.forms.keep(key, Form.of((Slot("", _BEGIN), *parts, _OK)).filler(_KINDS))

    def _begin(self, record: int, time: int | None) -> str:
        """Return the members that say when a packet was seen."""
        if time is None:
            return f'{{"record":{record},"time":null,'
        rest = time - self._start
        if not 0 <= rest < SECOND_NS:
            second, rest = divmod(time, SECOND_NS)
            self._start, self._stamp = second * SECOND_NS, f'"{whole_second(second)}.'
        micro = f"{DIGITS[rest // 1_000_000]}{DIGITS[rest // 1000 % 1000]}"
        nano = DIGITS[rest % 1000] if rest % 1000 else ""
        return f'{{"record":{record},"time":{self._stamp}{micro}{nano}Z",'

    def _quoted(self, name: str | None) -> str:
        """Return a topic in JSON, and keep it."""
        if name is None:
            return "null"
        text = string(name)
        if len(name) <= LONGEST_REMEMBERED:
            self.topics.keep(name, text)
        return text

    def _head(
        self, ends: Endpoints, client: str, version: Version, guessed: bool, direction: Direction | None
    ) -> str:  # fmt: skip
        """Return the members that say who sent a packet; keep those of the connection."""
        head = self.heads.get(ends.number)
        if head is None or head[0] != client or head[1] is not version or head[2] is not guessed:
            label = f',"version":"{version.label}"{_GUESSED if guessed else ""}'
            about = ends_members(ends, client)
            begun = [f'{about},"direction":{end}{label},' for end in ('"client"', '"server"', "null")]
            head = (client, version, guessed, begun[0], begun[1], begun[2])
            if len(client) <= LONGEST_REMEMBERED:
                self.heads.keep(ends.number, head)
        return head[3] if direction is _CLIENT else head[4] if direction is _SERVER else head[5]

    def _reason(self, packet: Any, code: int, version: Version) -> str:
        """Return the name of a Reason Code in JSON, and keep it."""
        key = packet.code << 16 | version << 8 | code
        text = self._reasons.get(key)
        if text is None:
            text = self._reasons[key] = dumps(reason_name(packet, code, version))
        return text

    # by packet type: the members between type and length

    def _ack(self, packet: Any, version: Version) -> str:
        return _id(packet.packet_id) + self._closing(packet, version)

    def _answers(self, packet: Suback | Unsuback, version: Version) -> str:
        codes = ",".join(map(str, packet.reason_codes))
        names = ",".join(self._reason(packet, code, version) for code in packet.reason_codes)
        return f',"packet_id":{packet.packet_id},"reason_codes":[{codes}],"reasons":[{names}]'

    def _filters(self, packet: Subscribe | Unsubscribe, version: Version) -> str:
        return f',"packet_id":{packet.packet_id},"filters":[{",".join(map(string, filters_of(packet)))}]'

    def _connect(self, packet: Connect, version: Version) -> str:
        clean = "true" if packet.clean_start else "false"
        will = f',"will_topic":{string(packet.will.topic)}' if packet.will else ""
        about = f'"keep_alive":{packet.keep_alive},"clean_start":{clean}'
        return f',"client_id":{string(packet.client_id)},{about}{will}'

    def _connack(self, packet: Connack, version: Version) -> str:
        present = "true" if packet.session_present else "false"
        return f"{self._closing(packet, version)},{dumps('session_present')}:{present}"

    def _closing(self, packet: Any, version: Version) -> str:
        code = packet.reason_code
        return "" if code is None else f',"reason_code":{code},"reason":{self._reason(packet, code, version)}'

    def _unreadable(self, packet: None, version: Version) -> str:
        return ',"unreadable":true'


def _message(kind: str, id: str, topic: str, also: str, size: str, payload_size: str) -> tuple[str, ...]:
    """Return the parts of the line of a PUBLISH between whose it is and the verdict."""
    return kind, id, ',"topic":', topic, also, ',"length":', size, ',"payload_length":', payload_size


def _other(kind: str, id: str, members: str, size: str) -> tuple[str, ...]:
    """Return the same of another packet."""
    return kind, id, members, ',"length":', size


def _id(id: int | None) -> str:
    return "" if id is None else f',"packet_id":{id}'


def event_line(event: GapSeen | Closed | Remark, client: str) -> str:
    """Return the line of what is not a packet; `client` is the Client Identifier, or empty where it is not known."""
    direction = event.direction.value if event.direction else None
    begun = f'{{"record":{event.record},"time":{dumps(None if event.time is None else iso(event.time))}'
    about = f'{ends_members(event.ends, client)},"direction":{dumps(direction)}'
    return f"{begun},{about},{_event_facts(event)}}}"


def with_files(events: Iterable[RunOrItem], file_of: Callable[[int], str]) -> Iterator[str]:
    """Yield what JsonLines makes of events, with the name of its file in each line."""
    line = JsonLines().line
    for name, known in groupby(events, lambda each: file_of(ends_of(each).number)):
        begun = f'{{"file":{string(name)},'
        yield from (begun + line(each)[1:].replace("\n{", f"\n{begun}") for each in known)


_NEVER = -(1 << 80)
_CLIENT, _SERVER = Direction.CLIENT, Direction.SERVER
_OK = ',"verdict":"ok"}'
_GUESSED = ',"guessed":true'
_NOTHING = '"type":"NOTHING"'


def string(text: str) -> str:
    """Return a string in JSON; one that is not UTF-8 as an object with its bytes."""
    return dumps(json_text(text), separators=(",", ":"))


def _kind(first: int) -> str:
    """Return the members that the first byte determines: the type; QoS, DUP and RETAIN of a PUBLISH."""
    text = f'"type":"{name_of(bytes((first,)))}"'
    if PACKETS.get(first >> 4) is not Publish:
        return text
    flags = {key: Publish.fields[key].pick(first) for key in ("qos", "dup", "retain")}
    return f"{text},{dumps(flags, separators=(',', ':'))[1:-1]}"


_KINDS_OF_BYTES = tuple(_kind(first) for first in range(256))


def ends_members(ends: Endpoints, client: str) -> str:
    """Return the members that say which connection it is."""
    name = string(client) if client else "null"
    addresses = f'"address":{dumps(ends.client or None)},"server":{dumps(ends.server or None)}'
    return f'"connection":{ends.number},"client":{name},{addresses}'


def _records(findings: Sequence[Finding]) -> str:
    return dumps([finding_record(each) for each in findings], separators=(",", ":"))


def _judged(findings: Sequence[Finding]) -> str:
    found = _records(findings[:MOST_FINDINGS])
    left = len(findings) - MOST_FINDINGS
    more = f',"findings_left_out":{left}' if left > 0 else ""
    return f',"verdict":{dumps(verdict(worst(findings)))},"findings":{found}{more}}}'


def _event_facts(event: GapSeen | Closed | Remark) -> str:
    if isinstance(event, Closed):
        return f'"event":"closed","how":{dumps(event.how)}'
    if isinstance(event, Remark):
        told = f',"findings":{_records([event.finding])}' if event.finding else ""
        return f'"event":"remark","message":{string(event.message)}{told}'
    facts = {"offset": event.offset, "length": event.length, "malformed": event.malformed}
    return f'"event":"gap",{dumps(facts, separators=(",", ":"))[1:-1]},"message":{string(event.message)}'


_MEMBERS: dict[str, Callable[[JsonLines, Any, Version], str]] = {
    **dict.fromkeys(("PUBACK", "PUBREC", "PUBREL", "PUBCOMP"), JsonLines._ack),
    **dict.fromkeys(("SUBACK", "UNSUBACK"), JsonLines._answers),
    **dict.fromkeys(("SUBSCRIBE", "UNSUBSCRIBE"), JsonLines._filters),
    "CONNECT": JsonLines._connect,
    "CONNACK": JsonLines._connack,
    **dict.fromkeys(("DISCONNECT", "AUTH"), JsonLines._closing),
}
_MEMBERS_OF: dict[type[Packet] | type[None], Callable[[JsonLines, Any, Version], str]] = {
    type(None): JsonLines._unreadable,
    **{PACKETS_BY_NAME[name]: members for name, members in _MEMBERS.items()},
}
