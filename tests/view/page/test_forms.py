"""Forms of packets: one that is remembered equals one that is made for the packet itself."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from mqttpub.capture.reading import CaptureEvents
from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, PacketSeen
from mqttpub.view.page.forms import PacketForm, PacketForms
from tests.fuzz.mutated import scratched
from tests.paths import CAPTURES
from tests.view.samples import BROKEN

LIMIT = 2000
"""Bytes that the pages of these tests have of each packet."""

RESPONSE_TOPIC, CORRELATION_DATA = 0x08, 0x09
ALIKE = (
    *(Publish(topic="a", properties=(Property(CORRELATION_DATA, data),)) for data in (b"ab", b"{}", b"\xff\0", b"\n ")),
    Publish(topic="ab", properties=(Property(RESPONSE_TOPIC, "a"),)),
    Publish(topic="a", properties=(Property(RESPONSE_TOPIC, "\u00e9"),)),
    Publish(topic="", payload=b"ab", properties=(Property(RESPONSE_TOPIC, "a"),)),
)
"""Packets of one length whose forms differ."""


def _packets() -> Iterator[PacketSeen]:
    """Yield packets of all types, broken ones, and mutations of them that are often of the same form."""
    found = [each for path in CAPTURES.glob("*.pcapng") for each in _packets_in(path)]
    ends = Endpoints(1, "", "")
    found += [
        PacketSeen(ends, None, 0, data, 0, Direction.CLIENT, version, False) for data in BROKEN for version in Version
    ]
    found += [
        PacketSeen(ends, None, 0, encode(packet, Version.V5), 0, Direction.CLIENT, Version.V5, False)
        for packet in ALIKE
    ]
    chance = Random(14)
    yield from found
    for each in found:
        yield from (each._replace(data=scratched(chance, each.data)) for _ in range(12))
        yield from (each._replace(data=_changed(chance, each.data)) for _ in range(12))


def _packets_in(path: Path) -> list[PacketSeen]:
    with path.open("rb") as file:
        return [each for each in CaptureEvents(file).events() if isinstance(each, PacketSeen)]


def _changed(chance: Random, data: bytes) -> bytes:
    """Return bytes with another value in one place, which more often than not is the same kind of packet."""
    made = bytearray(data or b"\0")
    made[chance.randrange(len(made))] = chance.choice((0, 1, 2, ord("a"), ord("{"), 0x7F, 0x80, 0xC3, 0xFF))
    return bytes(made)


@pytest.mark.slow
@pytest.mark.parametrize("secrets", [False, True])
def test_a_remembered_form_is_that_of_the_packet(secrets: bool) -> None:
    remembered, shared = PacketForms(secrets=secrets, shown_bytes=LIMIT), 0
    made: set[PacketForm] = set()
    for seen in _packets():
        decoded = decode(seen.data, seen.version, direction=seen.direction)
        findings = [*decoded.findings, *lint(decoded, seen.direction)]
        form = remembered.form(seen, decoded.packet, findings)
        own = PacketForm(decoded, guessed=seen.guessed, secrets=secrets, whole=len(seen.data) <= LIMIT)
        shared += form in made
        made.add(form)
        assert _values(form) == _values(own), seen.data.hex()
        assert form.summary(decoded.packet) == own.summary(decoded.packet)
        assert sum(form.lengths) == len(seen.data)
    assert shared > 500


def _values(form: PacketForm) -> list[object]:
    values = {name: getattr(form, name) for name in PacketForm.__slots__}
    if form.named:
        values["traits"] = form.traits._replace(topics=())
    return list(values.values())


def test_forms_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mqttpub.view.page.forms.MOST_ENTRIES", 100)
    remembered, weights = PacketForms(secrets=False, shown_bytes=LIMIT), []
    for size in range(60):
        packet = Publish(topic="a" * (size + 1), payload=b"x")
        data = encode(packet, Version.V5)
        seen = PacketSeen(Endpoints(1, "", ""), None, 0, data, 0, None, Version.V5, False)
        assert remembered.form(seen, packet, ()).length == len(data)
        weights.append(remembered.weight)
    assert max(weights) <= 100
