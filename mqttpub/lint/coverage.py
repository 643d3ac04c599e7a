"""Which statements packets put to the test, each by itself: those of the tables of `spec` and of the packet rules."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from ..spec import constraints
from ..spec.constraints import StatementRef
from ..spec.declare import PACKETS, Field, Packet
from ..spec.packets import Connect, Publish
from ..spec.properties import PROPERTIES, WILL
from ..spec.statements import Statement, statements
from ..spec.versions import Direction, Version
from ..traffic.events import PacketSeen
from ..traffic.runs import PUBLISHES, PacketRun
from ..wire.types import PAIR, STRING
from .connection import checkable
from .packet.specific import ABSENT, LEFT_OVER, LENGTHS
from .packet.values import demands
from .packet.view import OF_SERVER
from .registry import RULES

Key = tuple[int, str | int]
"""A packet type with the end that sent it (empty when unknown), with an optional field, or with a property."""

_KNOWN = tuple(end.value for end in Direction)
_SIDES = ("", *_KNOWN)
_SMALL = 4
"""Bytes of packets whose type and size say which fields they have."""
_UNREAD = "unread"
"""In place of the sender, for packets that could not be read."""
_EVERY_PACKET = (constraints.SHORT, constraints.TRAILING, constraints.LENGTH, constraints.SHORTEST, constraints.TYPE)
_PROPERTY_LISTS = (constraints.PROPERTY_SHORT, constraints.PROPERTY_UNKNOWN, constraints.PROPERTY_PLACE)


class StatementResult(NamedTuple):
    """How often one statement was tested and violated."""

    statement: Statement
    exercised: int
    """How often it was put to the test."""
    broken: int

    @property
    def kept(self) -> int:
        """How often it was tested and not violated."""
        return self.exercised - self.broken

    @property
    def word(self) -> str:
        """`broken`, `kept` or `not exercised`."""
        return "broken" if self.broken else "kept" if self.exercised else "not exercised"


class Coverage:
    """Counts the packets that could have violated a statement; one object for all packets of a capture."""

    def __init__(self) -> None:
        self._sent: dict[Version, Counter[Key]] = {}
        self._alike: dict[tuple[int, int, Direction | None, Version], tuple[list[int], list[Key]]] = {}
        """How many packets there are that have the same keys, and these; not in `_sent` yet."""

    @property
    def versions(self) -> list[Version]:
        """The versions of the packets that came, newest first."""
        self._add_up()
        return sorted(self._sent, reverse=True)

    def packet(self, event: PacketSeen, packet: Packet | None) -> None:
        """Count a packet; `packet` has its values, or is None if it could not be read."""
        data, kind = event.data, type(packet)
        size = 0 if kind is Publish and not packet.properties else len(data)  # type: ignore[union-attr]
        if packet is None or size > _SMALL:
            self._add(event.version, _keys_of(event, packet), 1)
            return
        # Of most packets the first byte and the size say all: 0.4 us for each instead of 2.7 (timeit).
        alike = data[0], size, event.direction, event.version
        found = self._alike.get(alike)
        if found is None:
            found = self._alike[alike] = [0], _keys_of(event, packet)
        found[0][0] += 1

    def run(self, run: PacketRun) -> None:
        """Count the packets of a run, which all could be read."""
        columns, rows = run.columns, slice(run.start, run.stop)
        firsts = columns.first[rows]
        # Of a PUBLISH the size says nothing; of an ack it says whether there is a Reason Code.
        sizes = [0] * len(firsts) if not firsts.strip(PUBLISHES) else columns.size[rows]
        for (first, size), times in Counter(zip(firsts, sizes, strict=True)).items():
            kind = first, 0 if first >> 4 == Publish.code else size
            alike = *kind, run.direction, run.version
            found = self._alike.get(alike)
            if found is None:
                at = next(at for at, each in enumerate(zip(firsts, sizes, strict=True)) if each == (first, size))
                keys = _keys_of(*run.item(run.start + at)[:2])
                found = self._alike[alike] = [0], [key for key in keys if isinstance(key[1], str)]
            found[0][0] += times
        if ids := run.property_ids():
            sent = self._sent.setdefault(run.version, Counter())
            for id in set(ids):
                sent[Publish.code, id] += ids.count(id)

    def add(self, other: "Coverage") -> None:
        """Add the packets of other connections."""
        for version in other.versions:
            self._sent.setdefault(version, Counter()).update(other._sent[version])

    def _add(self, version: Version, keys: Iterable[Key], times: int) -> None:
        counts = self._sent.setdefault(version, Counter())
        for key in keys:
            counts[key] += times

    def _add_up(self) -> None:
        for (_, _, _, version), (times, keys) in self._alike.items():
            self._add(version, keys, times[0])
        self._alike.clear()

    def rows(self, version: Version, exercised: Counter[str], broken: Counter[str]) -> Iterator[StatementResult]:
        """Yield every statement of a version that can be checked or was violated, in the order of the text.

        `exercised` and `broken` are the counts of a Judge: conversations, and in `broken` also single packets.
        """
        self._add_up()
        sent = self._sent.get(version, Counter())
        alone, together = packets_exercising(version), set(checkable(version))
        for row in statements(version.label):
            keys = alone.get(row.id)
            if keys is None and row.id not in together and not broken[row.id]:
                continue
            tested = sum(sent[key] for key in keys or ()) + exercised[row.id]
            yield StatementResult(row, max(tested, broken[row.id]), broken[row.id])


def _keys_of(event: PacketSeen, packet: Packet | None) -> list[Key]:
    """Return the keys that count a packet, some of them several times."""
    code = event.data[0] >> 4 if event.data else 0
    sender = event.direction.value if event.direction else ""
    if packet is None:
        return [(code, _UNREAD)]
    keys: list[Key] = [(code, sender)]
    keys += ((code, _with(sender, key)) for key in _OPTIONAL[code] if getattr(packet, key) is not None)
    keys += ((code, id) for id, _ in getattr(packet, "properties", None) or ())
    if isinstance(packet, Connect) and packet.will:
        keys += ((code, f"{WILL}.{id}") for id, _ in packet.will.properties)
    return keys


@cache
def _with(sender: str, key: str) -> str:
    """Return the key that counts packets from one end with an optional field."""
    return f"{sender}.{key}"


@cache
def packets_exercising(version: Version) -> dict[str, frozenset[Key]]:
    """Return, for each statement that a packet by itself can violate, the keys of packets that put it to the test."""
    found: dict[str, set[Key]] = {}
    for law, keys in _laws(version):
        if id := law.id(version):
            for key in keys:
                own = OF_SERVER.get(id, id) if str(key[1]).startswith(Direction.SERVER.value) else id
                found.setdefault(own, set()).add(key)
    return {id: frozenset(keys) for id, keys in found.items()}


def _laws(version: Version) -> Iterator[tuple[StatementRef, set[Key]]]:
    for law in _EVERY_PACKET:
        yield law, {key for code in range(16) for key in (*_sent(code), (code, _UNREAD))}
    for each in RULES:
        if each.cites is None:
            continue
        sides = (each.sender.value,) if each.sender else _KNOWN if each.cites == constraints.DIRECTION else _SIDES
        yield each.cites, {(kind.code, side) for kind in each.packets for side in sides}
    for kind, (_, law) in LENGTHS.items():
        yield law, _sent(kind.code)
    for *_, law, _ in LEFT_OVER:
        yield law, _sent(1)
    for path, law in ABSENT.items():
        kind = next(kind for kind in PACKETS.values() if kind.name == path.partition(".")[0].upper())
        yield law, _keys(kind, kind.fields[path.split(".")[1]])
    for kind in PACKETS.values():
        for field in kind.layout:
            yield from _field_laws(kind, field, version)
    if version is Version.V5:
        yield from _property_laws()


def _sent(code: int) -> set[Key]:
    return {(code, side) for side in _SIDES}


def _keys(kind: type[Packet], field: Field) -> set[Key]:
    """Return the keys that count packets with a field."""
    if field.key in _OPTIONAL[kind.code]:
        return {(kind.code, _with(side, field.key)) for side in _SIDES}
    return _sent(kind.code)


def _field_laws(kind: type[Packet], field: Field, version: Version) -> Iterator[tuple[StatementRef, set[Key]]]:
    if not field.exists_in(version):
        return
    keys = _keys(kind, field)
    if field.shape == "properties":
        yield constraints.NO_PROPERTIES, keys
    nested = getattr(field.item, "layout", ())
    for each in (field, *(inner for inner in nested if inner.exists_in(version))):
        text = each.type is STRING or each.item is STRING
        if each.shape == "list":
            yield from ((limit.ref, keys) for limit in demands(each.limits, version, text=False))
        limits = each.each if each.shape == "list" else each.limits
        yield from ((limit.ref, keys) for limit in demands(limits, version, text=text))


def _property_laws() -> Iterator[tuple[StatementRef, set[Key]]]:
    for row in PROPERTIES.values():
        holders: set[Key] = {(kind.code, row.id) for kind in PACKETS.values() if kind.name in row.packets}
        if WILL in row.packets:
            holders.add((Connect.code, f"{WILL}.{row.id}"))
        for limit in demands(row.limits, Version.V5, text=row.type in (STRING, PAIR)):
            yield limit.ref, holders
    # Any property puts these to the test, whether it is allowed there or not.
    anywhere: set[Key] = {(code, id) for code in range(16) for id in PROPERTIES}
    for law in _PROPERTY_LISTS:
        yield law, anywhere
    once: set[Key] = {(kind.code, row.id) for kind in PACKETS.values() for row in PROPERTIES.values()
                      if kind.name not in row.repeatable}  # fmt: skip
    yield constraints.PROPERTY_TWICE, once


_OPTIONAL: list[tuple[str, ...]] = [()] * 16
"""For each packet type the fields that are not in all packets of it."""
for _kind in PACKETS.values():
    _OPTIONAL[_kind.code] = tuple(
        field.key for field in _kind.layout if (field.when or field.tail) and field.shape != "properties"
    )
