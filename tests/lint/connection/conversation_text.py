"""Whole conversations in a line of text.

Steps are separated by semicolons:

    > publish q1 i7      the client sends; < the server sends
    !> puback i7         the same, and here is the fault
    +20                  20 seconds go by; between other steps a millisecond does
    client FIN           an end closes (FIN or RST); `end` is the end of the capture
    server FIN by client the same, and where a statement binds both ends, the client is at fault
    gap                  bytes are missing
    mid                  in front of all: the capture does not hold the beginning
    @                    stands for `> connect; < connack`

Words behind the name of a packet: i packet_id, q qos, d dup, r retain, c reason code(s) in hex; t= topic,
p= payload, f= filters (`f=a/#:q1:rh2:rap:nl,b`), id= client_id, ka= keep_alive, clean= clean_start, sp=
session_present, will=q1r1; the name of a property and its value. `> raw 3003` sends these bytes.

The lines of a table have labels in 5.0, 3.1.1 and 3.1 (a dot where a version is not meant). Of several labels
the first is the one that is cited; the others are broken with it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Finding
from mqttpub.lint.connection import Conversation, Tally
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import PACKETS, Subscription, Will
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.types import BINARY, PAIR, STRING
from tests.lint.label_tables import labelled_lines

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
_TYPES = {packet.__name__.lower(): packet for packet in PACKETS.values()}
_ENDS = {">": Direction.CLIENT, "<": Direction.SERVER, "client": Direction.CLIENT, "server": Direction.SERVER}
_SHORT = {"i": "packet_id", "q": "qos", "d": "dup", "r": "retain"}
_LONG = {"t": "topic", "p": "payload", "id": "client_id", "ka": "keep_alive", "clean": "clean_start",
         "sp": "session_present"}  # fmt: skip


class Step(NamedTuple):
    """One thing that happens."""

    kind: str
    """packet, close, gap or wait."""
    direction: Direction | None = None
    data: bytes = b""
    how: str = ""
    seconds: float = 0
    fault: bool = False
    at_fault: Direction | None = None
    """The end at fault where a statement binds both: the sender, or who closed, unless the text says another."""


def steps(text: str, version: Version) -> Iterator[Step]:
    """Yield the steps that a text describes."""
    for piece in text.removeprefix("mid").replace("@", "> connect; < connack;").split(";"):
        words = piece.split()
        if words:
            yield _step(words, version)


def _step(words: list[str], version: Version) -> Step:
    fault = words[0].startswith("!")
    first, *rest = [words[0].lstrip("!"), *words[1:]]
    if first.startswith("+"):
        return Step("wait", seconds=float(first[1:]))
    if first == "gap":
        return Step("gap")
    by = _ENDS.get(first)
    if first in ("client", "server", "end"):
        if rest[-2:-1] == ["by"]:
            by, rest = _ENDS[rest[-1]], rest[:-2]
        return Step("close", _ENDS.get(first), how=rest[0] if rest else "end", fault=fault, at_fault=by)
    data = bytes.fromhex(rest[1]) if rest[0] == "raw" else encode(_packet(rest[0], rest[1:], version), version)
    return Step("packet", by, data, fault=fault, at_fault=by)


def _packet(name: str, words: list[str], version: Version) -> Packet:
    cls = _TYPES[name]
    given: dict[str, Any] = dict(_DEFAULTS.get(name, {}))
    properties = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            given |= _flag(name, word)
        elif key in BY_KEY:
            properties.append(_property(key, value))
        elif key == "f":
            given |= _filters(name, value)
        elif key == "will":
            given |= {"will": Will(topic="w"), "will_qos": int(value[1]), "will_retain": value.endswith("r1")}
        else:
            field = cls.fields[_LONG.get(key, key)]
            given[field.key] = _typed(field.default, value, field.key)
    if properties and version == Version.V5:
        given["properties"] = tuple(properties)
        if "reason_code" in cls.fields and given.get("reason_code") is None and name != "connack":
            given["reason_code"] = 0
    return cls(**{key: value for key, value in given.items() if cls.fields[key].exists_in(version)})


_DEFAULTS: dict[str, dict[str, Any]] = {
    "publish": {"topic": "a", "payload": b"x"},
    "connect": {"client_id": "c"},
    "subscribe": {"subscriptions": (Subscription(filter="a"),)},
    "unsubscribe": {"filters": ("a",)},
    "suback": {"reason_codes": (0,)},
    "unsuback": {"reason_codes": (0,)},
}


def _flag(name: str, word: str) -> dict[str, Any]:
    if word[0] == "c":
        codes = tuple(int(code, 16) for code in word[1:].split(",") if code)
        return {"reason_codes": codes} if name in ("suback", "unsuback") else {"reason_code": codes[0]}
    value = int(word[1:])
    return {_SHORT[word[0]]: bool(value) if word[0] in "dr" else value}


def _filters(name: str, text: str) -> dict[str, Any]:
    if name == "unsubscribe":
        return {"filters": tuple(text.split(","))}
    return {"subscriptions": tuple(_subscription(*each.split(":")) for each in text.split(","))}


def _subscription(filter: str, *options: str) -> Subscription:
    given: dict[str, Any] = {}
    for option in options:
        if option[0] == "q":
            given["qos"] = int(option[1:])
        elif option.startswith("rh"):
            given["retain_handling"] = int(option[2:])
        else:
            given[{"rap": "retain_as_published", "nl": "no_local"}[option]] = True
    return Subscription(filter=filter, **given)


def _property(key: str, value: str) -> Property:
    row = BY_KEY[key]
    if row.type is PAIR:
        return Property(row.id, tuple(value.split(":")))
    if row.type is STRING:
        return Property(row.id, value)
    return Property(row.id, value.encode() if row.type is BINARY else int(value, 0))


def _typed(default: Any, value: str, key: str) -> Any:
    if isinstance(default, bytes):
        return value.encode()
    if isinstance(default, bool):
        return bool(int(value))
    return int(value) if isinstance(default, int) else value


class Heard(NamedTuple):
    """What was found, and where it should have been."""

    found: list[list[Finding]]
    """For each step."""
    faults: list[bool]
    at_fault: list[Direction | None]
    """For each step, the end at fault where a statement binds both."""
    data: list[bytes]
    tally: Tally


def hear(text: str, version: Version, *, fast: bool = False) -> Heard:
    """Return what the rules find in a conversation."""
    talk = Conversation(None if "connect" in text or "@" in text else version, complete=not text.startswith("mid"))
    time, found, all = 0, [], list(steps(text, version))
    for step in all:
        time += int(step.seconds * SECOND) or MILLISECOND
        found.append(_one(talk, step, version, time, fast))
    faults, ends = [step.fault for step in all], [step.at_fault for step in all]
    return Heard(found, faults, ends, [step.data for step in all], talk.tally)


def _one(talk: Conversation, step: Step, version: Version, time: int, fast: bool) -> list[Finding]:
    if step.kind == "gap":
        talk.gap(Direction.CLIENT, 3)
    elif step.kind == "close":
        return talk.closed(step.direction, step.how, time)
    elif step.kind == "packet":
        assert step.direction
        if fast:
            return talk.fast(step.data, decode_packet(step.data, version), step.direction, time, version)
        return talk.packet(decode(step.data, version, direction=step.direction), time)
    return []


class Row(NamedTuple):
    """One line of a table, for one of its versions."""

    ids: tuple[str, ...]
    version: Version
    text: str

    def __str__(self) -> str:
        return f"{self.ids[0]} {self.text}"


def rows(table: str) -> list[Row]:
    """Return the lines of a table, once for each version that they are about."""
    return [Row(ids, version, text) for ids, version, (text,) in labelled_lines(table, 1)]
