"""Connections in rows: what their packets add up to, how they began and ended."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode_packet
from mqttpub.columns.connections import Connections
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode, key
from mqttpub.columns.reassemble.frames import of_events
from mqttpub.columns.schema import CONNECTIONS
from mqttpub.spec.packets import Connack, Connect, Disconnect, Pingreq, Pingresp, Puback, Publish
from mqttpub.spec.versions import Direction
from mqttpub.traffic.events import Closed, Event, PacketSeen, TcpFigures
from tests.build.events import MS, START, Dialog, talks
from tests.columns.packet_rows import batches, end_columns, rows


def added(found: Sequence[Event], cuts: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Return rows of connections, packets taken in batches; what is between two of them is pickled."""
    connections, memory, made = Connections(), Memory(), []
    for frames in batches(found, cuts):
        batch = connections.add(decode(frames, memory=memory), frames)
        assert batch.schema == CONNECTIONS
        made += rows(batch)
        connections = pickle.loads(pickle.dumps(connections))
    return made + rows(connections.finish())


def full() -> Dialog:
    """Return a connection with all that a row tells."""
    will = None
    talk = Dialog().client(
        Connect(client_id="c", keep_alive=30, clean_start=False, username="u", password=b"p", will=will)
    )
    talk.server(Connack(session_present=True))
    said = Publish(topic="t", qos=1, packet_id=1, payload=b"12345")
    talk.client(said, said.replace(dup=True)).server(Puback(packet_id=1)).client(Publish(topic="t", payload=b""))
    talk.gap(Direction.SERVER, 10, "10 bytes are missing")
    talk.client(Disconnect(reason_code=4)).closes(Direction.CLIENT).closes(Direction.SERVER)
    last = talk.events[-1]
    assert isinstance(last, Closed)
    talk.events[-1] = last._replace(tcp=TcpFigures((1, 2), (3, 4), (5, 6), 1_234_567))
    return talk


def test_a_whole_connection() -> None:
    talk = full()
    sizes = [(len(event.data), event.direction) for event in talk.events if isinstance(event, PacketSeen)]
    client = [size for size, direction in sizes if direction is Direction.CLIENT]
    (row,) = added(talk.events)
    assert row == {
        "capture": "", "connection": key(talk.ends), "client_id": "c", **end_columns(talk.ends),
        "version": "5.0", "version_guessed": False, "begin_time": (START + MS) // 1000,
        "end_time": (START + 10 * MS) // 1000, "first_frame": 1, "last_frame": 8,
        "closed_by": "client", "closed_how": "FIN",
        "client_packets": len(client), "client_bytes": sum(client), "server_packets": len(sizes) - len(client),
        "server_bytes": sum(size for size, _ in sizes) - sum(client), "packets": len(sizes),
        "bytes": sum(size for size, _ in sizes), "publishes": 2, "dups": 1, "keep_alive": 30, "clean_start": False,
        "will_flag": False, "username": "u", "session_present": True, "connack_reason_code": 0,
        "disconnected_by": "client", "disconnect_reason_code": 4, "gaps": 1,
        "closed_time": (START + 9 * MS) // 1000, "community_id": "1:xDeZAnH6PIWNOtpGwPQg7GJhXEI=",
        "handshake_rtt_us": 1234,
        "client_retransmissions": 1, "client_out_of_order": 3, "client_zero_windows": 5, "server_retransmissions": 2,
        "server_out_of_order": 4, "server_zero_windows": 6, "pings": 0, "ping_rtt_min_us": None,
        "ping_rtt_max_us": None,
    }  # fmt: skip


def reset() -> Dialog:
    """Return a connection that one end resets, before what the other one sent is found to be incomplete."""
    talk = Dialog().client(Connect(client_id="c")).server(Connack()).closes(Direction.CLIENT, "RST")
    return talk.gap(Direction.SERVER, 9, "9 bytes are missing").closes(Direction.SERVER, "RST")


@pytest.mark.parametrize("talk", [full, reset])
def test_batches_change_nothing(talk: Callable[[], Dialog]) -> None:
    events = talk().events
    for cut in range(len(events) + 1):
        assert added(events, [cut]) == added(events)


def test_a_connection_is_reported_as_soon_as_it_ends() -> None:
    connections = Connections()
    frames = of_events(Dialog().client(Connect(client_id="c")).closes(None, "RST").events)
    assert connections.add(decode(frames), frames)["closed_how"].to_pylist() == ["RST"]
    assert len(connections.finish()) == 0


def test_a_connection_is_over_when_both_ends_closed() -> None:
    connections = Connections()
    frames = of_events(full().events)
    assert len(connections.add(decode(frames), frames)) == 1
    assert len(connections.finish()) == 0


def test_one_end_may_close_first() -> None:
    talk = Dialog().client(Connect(client_id="c")).closes(Direction.SERVER)
    connections = Connections()
    frames = of_events(talk.events)
    assert len(connections.add(decode(frames), frames)) == 0
    (row,) = rows(connections.finish())
    assert (row["closed_by"], row["closed_how"], row["session_present"]) == ("server", "FIN", None)


def test_pings() -> None:
    talk = Dialog().client(Connect(client_id="c")).server(Pingresp())
    for after in (3, 1, 2):
        talk.client(Pingreq()).server(Pingresp(), after=after * MS)
    events = talk.client(Pingreq()).events
    (row,) = added(events)
    assert (row["pings"], row["ping_rtt_min_us"], row["ping_rtt_max_us"]) == (3, 1000, 3000)
    assert all(added(events, [cut]) == [row] for cut in range(len(events)))


@given(talks(), st.lists(st.integers(0, 14), max_size=2))
@settings(max_examples=15)
def test_all_packets_are_counted_once(found: list[Event], cuts: list[int]) -> None:
    packets = [event for event in found if isinstance(event, PacketSeen)]
    made = added(found, cuts)
    assert sum(row["packets"] for row in made) == len(packets)
    assert sum(row["bytes"] for row in made) == sum(len(event.data) for event in packets)
    for side in Direction:
        own = [event for event in packets if event.direction is side]
        assert sum(row[f"{side.value}_packets"] for row in made) == len(own)
    sent = [packet for event in packets if isinstance(packet := decode_packet(event.data, event.version), Publish)]
    assert sum(row["dups"] for row in made) == sum(packet.dup for packet in sent if packet.qos in (1, 2))
