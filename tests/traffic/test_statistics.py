"""Sums over packets, exchanges, clients."""

import pytest
from hypothesis import given, settings

from mqttpub.spec.packets import Connack, Connect, Puback, Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic import statistics as module
from mqttpub.traffic.events import Event, PacketSeen
from mqttpub.traffic.statistics import Count, Statistics
from tests.build.events import (
    CLIENT,
    MS,
    SERVER,
    START,
    Dialog,
    counted,
    redelivered,
    subscribed,
    talks,
    walkthrough,
)


def test_the_walkthrough() -> None:
    found = counted(walkthrough().events)
    assert found.total(type="PUBLISH", qos=0) == Count(1, 51)
    assert found.total(type="PUBLISH", direction=CLIENT) == Count(3, 51 + 53 + 53)
    assert found.total(direction=SERVER) == Count(4, 5 + 6 + 6 + 6)
    assert found.total(version=Version.V5) == found.total()
    assert found.traffic.payload == 69
    assert found.overhead["PUBACK, PUBREC, PUBREL, PUBCOMP"] == 6 + 6 + 5 + 6
    assert found.reasons["PUBACK", 0x10, Version.V5] == 1
    assert found.outcomes == {("QoS 0", "sent"): 1, ("QoS 1", "complete"): 1, ("QoS 2", "complete"): 1}
    assert found.latencies["QoS 2", CLIENT].most == 79 * MS
    assert (found.first, found.last) == (START + MS, START + 166 * MS)
    assert (found.connections, found.unreadable, found.remarks) == (1, 0, 0)
    assert found.closes == {(CLIENT, "FIN"): 1}


def test_dups_show_the_quality_of_the_link() -> None:
    (client,) = counted(redelivered()).clients()
    assert (client.name, client.connections, client.ends.number) == ("meter-7", 2, 2)
    assert (client.publishes, client.dups) == ([0, 3, 0], [0, 1, 0])
    assert client.dup_rate(CLIENT) == pytest.approx(1 / 3)
    assert client.dup_rate(SERVER) is None


def test_gaps_and_remarks() -> None:
    talk = subscribed().gap(CLIENT, None, "not MQTT", malformed=True)
    found = counted(talk.events)
    assert (found.gaps[False], found.gaps[True], found.missing, found.remarks) == (1, 1, 1448, 1)
    assert found.closes == {(SERVER, "RST"): 1}
    assert found.outcomes["QoS 2", "refused"] == 1


def test_a_connection_ends_once() -> None:
    found = counted(Dialog().closes(CLIENT).closes(SERVER).closes(None, "end").events)
    assert found.closes == {(CLIENT, "FIN"): 1}


def test_unreadable_packets_and_reserved_types_are_counted() -> None:
    found = counted(Dialog().client(b"\x30\x00", b"\x00\x00").events)
    assert found.unreadable == 2
    assert found.total(type="TYPE 0") == Count(1, 2)
    assert found.overhead["unreadable PUBLISH"] == 2


def test_orphans_have_no_latency() -> None:
    found = counted(Dialog().server(Puback(packet_id=1)).events)
    assert found.outcomes == {("acks", "orphan"): 1}
    assert found.latencies == {}


def test_a_client_is_counted_under_its_assigned_identifier() -> None:
    talk = Dialog().client(Connect(client_id="")).client(Connect(client_id="a"))
    (client,) = counted(talk.events).clients()
    assert (client.name, client.packets, client.connections) == ("a", 2, 1)


def test_long_names_are_cut_and_say_so() -> None:
    (client,) = counted(Dialog().client(Connect(client_id="x" * 1000), Connect(client_id="x" * 1000)).events).clients()
    assert client.name == "x" * 256 + "...+744"


def test_clients_and_connections_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 3)
    monkeypatch.setattr(module, "MOST_CLIENTS", 5)
    events: list[Event] = []
    for number in range(1, 21):
        talk = Dialog(number).client(Connect(client_id=f"c{number}")).server(Connack())
        events += talk.client(Publish(topic="t", qos=1, packet_id=1)).events
    found = counted(events)
    clients = found.clients()
    assert found.connections == 20
    assert len(clients) == 6
    assert clients[0].others
    assert sum(each.packets for each in clients) == 60
    assert sum(each.publishes[1] for each in clients) == 20
    assert sum(each.connections for each in clients) == 20
    assert found.clients()[0].packets == clients[0].packets


def test_time_may_go_back_or_be_missing() -> None:
    talk = Dialog().client(b"\xc0\x00", after=5 * MS).client(b"\xc0\x00", after=-9 * MS)
    talk.time = None
    found = counted(talk.client(b"\xc0\x00").events)
    assert (found.first, found.last) == (START - 4 * MS, START + 5 * MS)
    assert Statistics().first is None


@settings(max_examples=15)
@given(talks())
def test_every_byte_is_counted_once(events: list[Event]) -> None:
    found = counted(events)
    packets = [event for event in events if isinstance(event, PacketSeen)]
    size = sum(len(event.data) for event in packets)
    assert found.total() == Count(len(packets), size)
    assert sum(count.packets for _, count in found.kinds()) == len(packets)
    assert len({kind for kind, _ in found.kinds()}) == len(list(found.kinds()))
    assert found.traffic.payload + sum(found.overhead.values()) == size
    assert all(count >= 0 for count in found.overhead.values())
    clients = found.clients()
    assert sum(each.packets for each in clients) == len(packets)
    assert sum(each.bytes for each in clients) == size
    for each in clients:
        assert all((each.dup_rate(end) or 0) <= 1 for end in Direction)
