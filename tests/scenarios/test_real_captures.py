"""Real captures read and judged: what real clients and a real broker send is right, but for what is listed."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mqttpub.capture.reading import events
from mqttpub.codec.decode import decode
from mqttpub.lint.connection import Conversation
from mqttpub.lint.packet.check import lint
from mqttpub.spec.packets import Connect, Disconnect
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Event, PacketSeen, Remark
from tests.build.client_traffic import RECORDINGS
from tests.build.recording import captures
from tests.paths import CAPTURES

Test = TypeVar("Test", bound=Callable[..., None])


WRONG: dict[str, dict[tuple[str, str], str]] = {name: {} for name in RECORDINGS}
"""By recording, what packets of it break: the packet and the statement, and why that is the peer's fault.

Nothing: mosquitto 2.0.11, its clients, paho 2.2 and ours keep all rules that one connection shows.
"""


def of(path: Path) -> list[Event]:
    """Return all events of a file."""
    with path.open("rb") as file:
        return list(events(file))


def findings(found: list[Event]) -> Iterator[tuple[str, str, str]]:
    """Yield the packet, the statement and the message of all that is wrong, by the packet and by its connection."""
    following: dict[int, Conversation] = {}
    for event in found:
        if isinstance(event, PacketSeen):
            decoded = decode(event.data, event.version, direction=event.direction)
            conversation = following.setdefault(event.ends.number, Conversation(event.version))
            for each in (*lint(decoded), *conversation.packet(decoded, event.time)):
                yield decoded.name, each.statement, each.message
        elif isinstance(event, Closed):
            conversation = following.setdefault(event.ends.number, Conversation())
            for each in conversation.closed(event.direction, event.how, event.time):
                yield "end", each.statement, each.message


@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.stem)
def test_what_ships_with_the_tests_is_right(path: Path) -> None:
    found = of(path)
    assert {type(event) for event in found} == {PacketSeen, Closed}
    assert list(findings(found)) == []


def real(test: Test) -> Test:
    """Mark a test that needs all programs."""
    for mark in (pytest.mark.slow, pytest.mark.broker, pytest.mark.tshark):
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def recorded(shared_folder: Path) -> dict[str, list[Event]]:
    """What is read of all recordings of this run."""
    return {name: of(each.path) for name, each in captures(shared_folder).items()}


@real
@pytest.mark.parametrize("name", RECORDINGS)
def test_nothing_is_missing(recorded: dict[str, list[Event]], name: str) -> None:
    others = [event for event in recorded[name] if not isinstance(event, PacketSeen | Closed)]
    assert all(isinstance(event, Remark) and event.message.startswith("WebSocket: GET ") for event in others)
    assert bool(others) == (name in ("paho", "mqttpub"))


@real
@pytest.mark.parametrize("name", RECORDINGS)
def test_real_captures_have_only_the_listed_findings(recorded: dict[str, list[Event]], name: str) -> None:
    found = {(packet, statement): message for packet, statement, message in findings(recorded[name])}
    assert set(found) == set(WRONG[name]), found


@real
@pytest.mark.parametrize("name", RECORDINGS)
def test_faults_put_into_real_captures_are_found(recorded: dict[str, list[Event]], name: str) -> None:
    made = [_with_dup(event) for event in recorded[name]]
    changed = sum(one is not other for one, other in zip(made, recorded[name], strict=True))
    found = Counter(statement for _, statement, _ in findings(made))
    assert changed > 0
    assert set(found) <= {"MQTT5-3.3.1-2", "MQTT311-3.3.1-2", "MQTT31-3.3/dup-qos0"}
    assert found.total() == changed


@real
def test_mosquitto_closes_without_telling_who_was_taken_over(recorded: dict[str, list[Event]]) -> None:
    """MQTT5-3.1.4-3, which two connections show together: the first gets no DISCONNECT with 0x8E."""
    twice = [event for event in recorded["sockets"] if isinstance(event, PacketSeen) and _is_twice(event)]
    assert [event.version for event in twice] == [Version.V5, Version.V5]
    first = twice[0].ends.number
    answers = [event for event in recorded["sockets"] if event.ends.number == first and _from_server(event)]
    assert [type(event) for event in answers] == [PacketSeen, Closed]
    assert not any(isinstance(event, PacketSeen) and event.data[0] >> 4 == Disconnect.code for event in answers)


def _with_dup(event: Event) -> Event:
    """Return a PUBLISH of QoS 0 with DUP, anything else as it is."""
    if isinstance(event, PacketSeen) and event.data[0] & 0xFE == 0x30:
        return event._replace(data=bytes((event.data[0] | 8,)) + event.data[1:])
    return event


def _is_twice(event: PacketSeen) -> bool:
    packet: Any = decode(event.data, event.version).packet if event.data[0] >> 4 == Connect.code else None
    return packet is not None and packet.client_id == "twice"


def _from_server(event: Event) -> bool:
    return event.direction is Direction.SERVER
