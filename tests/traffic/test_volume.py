"""Bytes of PUBLISH packets, and what aliases save of them: compared with sending the same without, and with."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Connect, Publish
from mqttpub.spec.versions import Version
from mqttpub.traffic import volume as module
from tests.build.events import ALIAS, SERVER, Dialog, aliased, counted


def size(topics: Sequence[tuple[str, int | None]]) -> int:
    """Return the bytes of PUBLISH packets to topics with aliases."""
    packets = (Publish(topic=topic, properties=(Property(ALIAS, alias),) if alias else ()) for topic, alias in topics)
    return sum(len(encode(packet, Version.V5)) for packet in packets)


names = st.sampled_from(("", "a", "bc", "sensors/1", "sensors/2", "\u4f60\u597d"))


@given(st.lists(st.tuples(names.filter(bool), st.booleans())))
def test_aliases_save_the_difference_to_the_same_packets_without_aliases(sent: list[tuple[str, bool]]) -> None:
    """Every topic has its alias; some packets use it."""
    talk, wire, plain = Dialog(), [], []
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in sent), 1)}
    known: set[str] = set()
    for name, used in sent:
        again = used and name in known
        entry = ("" if again else name, numbers[name] if used else None)
        known |= {name} if used else set()
        talk.client(Publish(topic=entry[0], properties=(Property(ALIAS, entry[1]),) if entry[1] else ()))
        wire.append(entry)
        plain.append((name, None))
    assert counted(talk.events).traffic.saved == size(plain) - size(wire)


@given(st.lists(names.filter(bool)))
def test_the_possible_saving_is_what_aliases_would_save(sent: list[str]) -> None:
    """A sender gives an alias to the topics that gain by it, at their first packet."""
    gain = {name: (sent.count(name) - 1) * (len(name.encode()) - 3) - 3 for name in sent}
    numbers = {name: number for number, name in enumerate(gain, 1)}
    wire: list[tuple[str, int | None]] = []
    for at, name in enumerate(sent):
        worth = gain[name] > 0
        wire.append(("" if worth and name in sent[:at] else name, numbers[name] if worth else None))
    found = counted(Dialog().client(*(Publish(topic=name) for name in sent)).events).traffic
    assert found.savable == size([(name, None) for name in sent]) - size(wire)


def test_the_receiver_allows_so_many_aliases() -> None:
    limits = (Property(0x22, 1),)
    topics = [Publish(topic=name) for name in ("sensors/1", "sensors/2") for _ in range(3)]
    talk = Dialog().client(Connect(client_id="a")).server(Connack(properties=limits)).client(*topics)
    found = counted(talk.events).traffic
    assert (found.savable, found.allowed) == (18, 9)
    other = Dialog().client(Connect(client_id="a", properties=limits)).server(Connack(), *topics)
    assert counted(other.events).traffic.allowed == 9
    assert counted(Dialog().says(SERVER, *topics).events).traffic.allowed == 0


def test_311_has_no_aliases() -> None:
    found = counted(Dialog(version=Version.V311).client(*[Publish(topic="sensors/1")] * 9).events).traffic
    assert (found.savable, found.saved, found.properties) == (0, 0, 0)


def test_the_saving_of_an_alias_that_was_never_set_is_unknown() -> None:
    found = counted(aliased().events).traffic
    assert (found.aliased, found.unresolved) == (4, 1)
    assert found.saved == 3 * (12 - 3) - 3 * 3


@pytest.mark.parametrize(("length", "header"), [(10, 2), (200, 3), (20_000, 4), (2_100_000, 5)])
def test_parts_of_a_publish(length: int, header: int) -> None:
    packet = Publish(topic="\u4f60", qos=1, packet_id=7, payload=bytes(length), properties=(Property(2, 5),))
    found = counted(Dialog().client(packet).events).traffic
    assert (found.headers, found.topics, found.identifiers, found.properties) == (header, 5, 2, 6)
    assert found.payload == length


def test_topics_are_remembered_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TOPICS", 2)
    topics = [Publish(topic=name) for name in ("sensors/1", "sensors/2", "sensors/3") for _ in range(3)]
    found = counted(Dialog().client(*topics).events).traffic
    assert (found.full, found.savable) == (True, 18)
