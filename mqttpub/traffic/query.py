"""The filter language: terms that choose packets."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ..codec.tree import Finding
from ..spec.declare import PACKETS, Packet
from ..spec.packets import Connect, Publish, Subscribe, Unsubscribe
from ..spec.statements import matches, statements
from ..spec.versions import Direction, Version
from .aliases import Topic
from .clients import display_name
from .events import Closed, GapSeen, PacketSeen, Remark
from .exchanges import filters_of
from .topics import filter_problem, topic_matches

_WORD = re.compile(r'\s*(?:(?P<mark>[,!])|(?P<word>(?:"(?:[^"\\]|\\.)*"|[^\s,!"])(?:"(?:[^"\\]|\\.)*"|[^\s,"])*))')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_KEY = re.compile(r"([a-z]+)=")
_NUMBER = re.compile(r"[0-9]{1,30}|0[xX][0-9a-fA-F]{1,30}")


class Candidate(NamedTuple):
    """What a term looks at."""

    event: PacketSeen | GapSeen | Closed | Remark
    packet: Packet | None
    topic: Topic | None
    client: str
    findings: Sequence[Finding]


Test = Callable[[Candidate], bool]

EVENTS = {"gap": GapSeen, "remark": Remark, "closed": Closed}
"""Values of `type=` for events that are not packets."""
SEVERITIES = ("error", "warning", "note")


class PacketFilter:
    """Chooses packets by terms.

    | term | is true for |
    | --- | --- |
    | `type=PUBLISH` | packets of this type; `gap` stands for bytes that are missing or are not a packet, `closed` for
      the end of a connection, `remark` for a remark about one |
    | `topic=a/+/#` | PUBLISH whose Topic Name (alias resolved) matches this Topic Filter, CONNECT whose Will Topic
      does; SUBSCRIBE and UNSUBSCRIBE with a filter that it covers |
    | `payload=text` | PUBLISH with this text somewhere in its payload, CONNECT with it in the Will Payload; upper
      and lower case differ, `*` stands for any characters, `hex:00ff` for these bytes |
    | `client=ID` | the connections of this Client Identifier, or from this address; `*` stands for any characters |
    | `connection=2` | the second connection |
    | `direction=client` | what the client sent; `server` what the server sent |
    | `fault=client` | packets with a finding that is the fault of the client, and bytes from it that are not a packet;
      `server` the same of the server. At the end of a connection the other end may have sent the last packet |
    | `id=42` | packets with this Packet Identifier, `0x2a` in hex |
    | `qos=1` | PUBLISH with this QoS |
    | `dup`, `retain` | PUBLISH with this flag |
    | `alias=7` | PUBLISH with this Topic Alias |
    | `reason=0x87` | packets with this Reason Code, or with it among others |
    | `version=5` | packets of connections of this version |
    | `finding` | packets with a finding, and gaps |
    | `finding=3.3.1-2` | packets that violate this statement, or one of a section: `MQTT5-3.3`, `3.3.1-*` |
    | `record=12` | what record 12 of a capture completed; each file counts from 1 |
    | `severity=error` | packets with a finding of this severity: error, warning, note; a gap is an error if the peer
      sent bytes that are not a packet, else a warning |

    All terms must be true; of terms separated by `,` one is enough, and `!` negates a term. Values of one term may
    be separated by `,` too: `!type=PINGREQ,PINGRESP client=sensor-*`. Put a value with a space, a comma or a quotation
    mark in quotation marks, with a backslash before `"` and `\\`.
    """

    def __init__(self, text: str, groups: tuple[tuple[Test, ...], ...]) -> None:
        self.text = text
        self._groups = groups

    @property
    def terms(self) -> int:
        """Number of terms that must all be true; terms separated by `,` count as one."""
        return len(self._groups)

    @classmethod
    def parse(cls, text: str) -> "PacketFilter":
        """Return the filter for a text; raises ValueError, which says at which character the text is wrong."""
        return cls(text, tuple(_groups(Words(text))))

    def matches(
        self, event: PacketSeen | GapSeen | Closed | Remark, packet: Packet | None = None,
        topic: Topic | None = None, client: str = "", findings: Sequence[Finding] | None = None,
    ) -> bool:  # fmt: skip
        """Whether the filter chooses this packet; other events have only a client, a connection and a direction.

        A remark that states a finding has that finding, unless others are given.
        """
        if findings is None and isinstance(event, Remark) and event.finding:
            findings = (event.finding,)
        return self.chooses(Candidate(event, packet, topic, client, findings or ()))

    def chooses(self, seen: Candidate) -> bool:
        """Whether the filter chooses what it looks at here."""
        return all(any(test(seen) for test in group) for group in self._groups)


# words


class Words:
    """Marks and words of a filter, with their offsets in characters; raises ValueError for an open quotation mark."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(self._cut(text))
        self.at = 0

    def _cut(self, text: str) -> Iterator[tuple[str, int]]:
        start, stop = 0, len(text.rstrip())
        while start < stop:
            found = _WORD.match(text, start, stop)
            if not found:
                place = start + len(text[start:]) - len(text[start:].lstrip())
                raise wrong(place, "a quotation mark is not closed")
            yield found[0].lstrip(), found.end() - len(found[0].lstrip())
            start = found.end()

    @property
    def next(self) -> str:
        """The next word, or an empty string."""
        return self.words[self.at][0] if self.at < len(self.words) else ""

    @property
    def place(self) -> int:
        """Offset of the next word."""
        return self.words[self.at][1] if self.at < len(self.words) else len(self.text)

    def take(self) -> str:
        """Return the next word and move past it."""
        word = self.next
        self.at += 1
        return word


def wrong(place: int, message: str) -> ValueError:
    """Return the error for an offset."""
    return ValueError(f"character {place + 1}: {message}")


def _groups(words: Words) -> Iterator[tuple[Test, ...]]:
    while words.next:
        tests = [_term(words)]
        while words.next == ",":
            words.take()
            tests.append(_term(words))
        yield tuple(tests)


def _term(words: Words) -> Test:
    """Read one term with all of its values."""
    turned = False
    while words.next == "!":
        words.take()
        turned = not turned
    place, word = words.place, words.take()
    if word in ("", ","):
        raise wrong(place, "a term is missing")
    test = _bare(word, place) if not _KEY.match(word) else _valued(word, place, words)
    return (lambda seen: not test(seen)) if turned else test


def _bare(word: str, place: int) -> Test:
    if word not in _FLAGS:
        raise _not_a_term(word, place)
    return _FLAGS[word]


def _not_a_term(word: str, place: int) -> ValueError:
    return wrong(place, f"{word!r} is not a term ({', '.join(f'{key}=' for key in _TERMS)}, {', '.join(_FLAGS)})")


def _valued(word: str, place: int, words: Words) -> Test:
    key = word[: word.index("=")]
    if key not in _TERMS:
        raise _not_a_term(f"{key}=", place)
    values = [(word[len(key) + 1 :], place + len(key) + 1)]
    while words.next == "," and _is_value(words):
        words.take()
        values.append((words.next, words.place))
        words.take()
    tests = [_made(key, value, at) for value, at in values]
    return tests[0] if len(tests) == 1 else (lambda seen: any(test(seen) for test in tests))


def _is_value(words: Words) -> bool:
    """Whether another value follows a comma, as opposed to another term."""
    after = words.words[words.at + 1][0] if words.at + 1 < len(words.words) else ""
    return after not in ("", ",", "!") and after not in _FLAGS and not _KEY.match(after)


def _made(key: str, value: str, place: int) -> Test:
    plain = _QUOTED.sub(lambda found: re.sub(r"\\(.)", r"\1", found[1]), value)
    try:
        return _TERMS[key](plain)
    except ValueError as error:
        raise wrong(place, str(error)) from None


# terms


def _type(value: str) -> Test:
    codes = {packet.name: code for code, packet in PACKETS.items()}
    if (event := EVENTS.get(value.lower())) is not None:
        return lambda seen: isinstance(seen.event, event)
    if value.upper() not in codes:
        raise ValueError(f"{value!r} is not a packet type ({', '.join((*codes, *EVENTS))})")
    code = codes[value.upper()]

    def test(seen: Candidate) -> bool:
        return isinstance(seen.event, PacketSeen) and seen.event.data[:1] != b"" and seen.event.data[0] >> 4 == code

    return test


def _topic(value: str) -> Test:
    pattern = value.split("/")
    if filter_problem(value):
        raise ValueError(f"{value!r} is not a Topic Filter")
    return lambda seen: any(topic_matches(pattern, topic.split("/")) for topic in _topics(seen))


def _topics(seen: Candidate) -> tuple[str, ...]:
    packet = seen.packet
    if isinstance(packet, Publish):
        name = seen.topic.name if seen.topic else packet.topic
        return () if name is None else (name,)
    if isinstance(packet, Subscribe | Unsubscribe):
        return filters_of(packet)
    return (packet.will.topic,) if isinstance(packet, Connect) and packet.will else ()


def _payload(value: str) -> Test:
    parts = _parts_of_payload(value)
    return lambda seen: any(_in_turn(parts, payload) for payload in _payloads(seen.packet))


def _parts_of_payload(value: str) -> list[bytes]:
    """Return the parts that a payload must have, each after the one before it."""
    if value.startswith("hex:"):
        try:
            parts = [bytes.fromhex(value[4:])]
        except ValueError:
            parts = []
    else:
        parts = [part.encode("utf-8", "surrogateescape") for part in value.split("*")]
    if not parts or parts == [b""]:
        raise ValueError(f"{value!r} is not a payload (text, or hex: and two digits for each byte)")
    return parts


def _payloads(packet: Packet | None) -> tuple[bytes, ...]:
    if isinstance(packet, Publish):
        return (packet.payload,)
    return (packet.will.payload,) if isinstance(packet, Connect) and packet.will else ()


def _in_turn(parts: Sequence[bytes], data: bytes) -> bool:
    at = 0
    for part in parts:
        at = data.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def _glob(value: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in value.split("*"))
    return re.compile(".*".join(parts), re.DOTALL)


def _client(value: str) -> Test:
    pattern = _glob(value)

    def test(seen: Candidate) -> bool:
        ends = seen.event.ends
        return bool(pattern.fullmatch(display_name(seen.client, ends)) or pattern.fullmatch(ends.client))

    return test


def _number(value: str, name: str, most: int) -> int:
    number = int(value, 16 if value[1:2] in ("x", "X") else 10) if _NUMBER.fullmatch(value) else -1
    if not 0 <= number <= most:
        raise ValueError(f"{value!r} is not a {name} (0 to {most})")
    return number


def _equal(name: str, most: int, found: Callable[[Candidate], int | None]) -> Callable[[str], Test]:
    """Return a term whose value is a number; `found` returns that of a packet, None if it has none."""

    def term(value: str) -> Test:
        number = _number(value, name, most)
        return lambda seen: found(seen) == number

    return term


def _direction(value: str) -> Test:
    direction = _end(value, "a direction")
    return lambda seen: seen.event.direction is direction


def _end(value: str, what: str) -> Direction:
    try:
        return Direction(value)
    except ValueError:
        raise ValueError(f"{value!r} is not {what} (client, server)") from None


def _fault(value: str) -> Test:
    end = _end(value, "an end")
    return lambda seen: end in _ends_at_fault(seen)


def _ends_at_fault(seen: Candidate) -> Iterator[Direction | None]:
    if isinstance(seen.event, GapSeen):
        yield end_of_gap(seen.event)
    yield from (finding.at_fault for finding in seen.findings)


def end_of_gap(gap: GapSeen) -> Direction | None:
    """Return the end at fault for a gap; None for bytes that the capture misses, and if the end is unknown."""
    return gap.direction if gap.malformed else None


def _reason(value: str) -> Test:
    number = _number(value, "Reason Code", 0xFF)

    def test(seen: Candidate) -> bool:
        own = getattr(seen.packet, "reason_code", None)
        return own == number or number in getattr(seen.packet, "reason_codes", ())

    return test


def _version(value: str) -> Test:
    version = Version.named(value)
    return lambda seen: isinstance(seen.event, PacketSeen) and seen.event.version == version


def _finding(value: str) -> Test:
    if not any(matches(value, row.id) for row in statements()):
        raise ValueError(f"no statement is called {value!r}")
    fits = cache(lambda each: matches(value, each))
    return lambda seen: any(fits(finding.statement) for finding in seen.findings)


def _severity(value: str) -> Test:
    if value not in SEVERITIES:
        raise ValueError(f"{value!r} is not a severity ({', '.join(SEVERITIES)})")
    return lambda seen: value in _severities(seen)


def _severities(seen: Candidate) -> Iterator[str]:
    if isinstance(seen.event, GapSeen):
        yield gap_severity(seen.event)
    yield from (finding.severity for finding in seen.findings)


def gap_severity(gap: GapSeen) -> str:
    """Return how severe a gap is; bytes that the capture misses are not the fault of a peer."""
    return "error" if gap.malformed else "warning"


_TERMS: dict[str, Callable[[str], Test]] = {
    "type": _type,
    "topic": _topic,
    "payload": _payload,
    "client": _client,
    "connection": _equal("connection", 1 << 62, lambda seen: seen.event.ends.number),
    "direction": _direction,
    "fault": _fault,
    "id": _equal("Packet Identifier", 0xFFFF, lambda seen: getattr(seen.packet, "packet_id", None)),
    "qos": _equal("QoS", 3, lambda seen: seen.packet.qos if isinstance(seen.packet, Publish) else None),
    "alias": _equal("Topic Alias", 0xFFFF, lambda seen: seen.topic.alias if seen.topic else None),
    "reason": _reason,
    "version": _version,
    "finding": _finding,
    "severity": _severity,
    "record": _equal("record", 1 << 62, lambda seen: seen.event.record),
}
_FLAGS: dict[str, Test] = {
    "dup": lambda seen: isinstance(seen.packet, Publish) and seen.packet.dup,
    "retain": lambda seen: isinstance(seen.packet, Publish) and seen.packet.retain,
    "finding": lambda seen: any(_severities(seen)),
}
