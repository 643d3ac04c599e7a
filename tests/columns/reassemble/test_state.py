"""What is kept between captures can be put away and goes on as before."""

import io
import pickle
import zlib
from collections.abc import Callable
from random import Random
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.containers.registry import records
from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.protocol.websocket import MOST_REPEATED, Inflater, WebSocketError
from mqttpub.columns.read import finish, read
from mqttpub.columns.reassemble.state import State
from mqttpub.columns.scan.buckets import SLOTS, Bucket, table
from mqttpub.traffic.events import Event
from tests.build.containers import Pcapng
from tests.build.frames import RST, SYN, Wire, pcap
from tests.build.frames import records as framed
from tests.build.known_captures import truth
from tests.build.pieces import CLIENT, CONNACKS, CONNECTS, V5, publish, seen
from tests.build.troubled_captures import troubled
from tests.capture.protocol.test_websocket import Deflater, mine, upgraded
from tests.columns.batches import ReadEvents, all_events

Kept = TypeVar("Kept")


def again(kept: Kept) -> Kept:
    """Put something away, and take it out."""
    return pickle.loads(pickle.dumps(kept))  # type: ignore[no-any-return]


# the scalar stages, of which the state consists


@pytest.mark.slow
@settings(max_examples=60)
@given(troubled(), st.integers(1, 5))
def test_the_state_can_be_pickled_between_any_two_records(data: bytes, often: int) -> None:
    assert _events(data, often) == _events(data, 0)


def _events(data: bytes, often: int) -> list[Event]:
    kept = Reassembler(), MqttDemux()
    found: list[Event] = []
    for record in records(io.BytesIO(data)):
        if often and not record.number % often:
            kept = again(kept)
        found += [event for piece in kept[0].feed(record) for event in kept[1].feed(piece)]
    found += [event for piece in kept[0].finish() for event in kept[1].feed(piece)]
    return [*found, *kept[1].finish()]


def through_websocket(
    extensions: str, packets: list[bytes], again: Callable[[MqttDemux], MqttDemux] = again
) -> list[bytes]:
    """Return what is read of packets of a client in WebSocket, put away and taken out again all the time."""
    deflater = Deflater("no_context" not in extensions)
    script = upgraded(extensions)
    for packet in packets:
        whole = mine(deflater.message(packet) if extensions else packet, bits=0x40 if extensions else 0)
        script.send(CLIENT, *(whole[at : at + 9] for at in range(0, len(whole), 9)))
    streams, found = MqttDemux(), list[Event]()
    for piece in script.pieces:
        streams = again(streams)
        found += streams.feed(piece)
    return seen(found)


@pytest.mark.slow
@pytest.mark.parametrize("extensions", ["", "permessage-deflate", "permessage-deflate; client_no_context_takeover"])
def test_websocket_too(extensions: str) -> None:
    packets = [CONNECTS[V5], *[publish(b"the same again and again" * 40)] * 3, publish(bytes(50_000)), publish()]
    assert through_websocket(extensions, packets) == packets


def test_final_blocks_and_messages_that_are_too_long_to_be_kept() -> None:
    compress = zlib.compressobj(9, zlib.DEFLATED, -15)
    final = compress.compress(b"one") + compress.flush()
    inflater = Inflater(True)
    assert b"".join(inflater.feed(final)) == b"one"
    inflater = again(inflater)
    message = Deflater(True).message(Random(1).randbytes(MOST_REPEATED + 99))
    half = MOST_REPEATED // 2
    first = b"".join(inflater.feed(message[:half]))
    inflater = again(inflater)
    rest = b"".join(inflater.feed(message[half:-50]))
    assert (first + rest)[: half // 2] == Random(1).randbytes(MOST_REPEATED + 99)[: half // 2]
    with pytest.raises(WebSocketError, match="cannot be inflated: more than 1,048,576 bytes of it came before a pause"):
        list(again(inflater).feed(message[-50:]))
    with pytest.raises(WebSocketError):
        list(Inflater(True).feed(b"\xff\xff\xff"))


# names, buckets, size


def test_a_connection_has_one_name_in_any_parts() -> None:
    made = truth(2, connections=5, messages=30)
    whole, names = (
        {name for batch in read([io.BytesIO(made.files[0])], block=block) for name in batch.names.values()}
        for block in (1 << 30, 300)
    )
    assert names == whole
    assert len(names) == 5
    assert min(names).startswith("10.0.0.")
    first = next(name for name in names if "#1@" in name)
    ends, _, when = first.partition("#1@")
    assert ends.endswith(("-10.1.0.1:1883", "-[::1]:1883"))
    assert when.startswith("17000000000")


def test_keys_in_a_capture_are_counted_once() -> None:
    file = Pcapng()
    file.section()
    file.secrets(0x5353484B, b"of no concern\n")
    state = State()
    all_events(read([io.BytesIO(file.written().data)], state=state))
    assert state.left_out() == ""
    file.secrets(0x544C534B, b"CLIENT_RANDOM 1 2\n")
    all_events(read([io.BytesIO(file.written().data)], state=state))
    assert "keys for TLS" in state.left_out()
    assert again(state).left_out() == state.left_out() == ""


def test_both_directions_fall_into_one_bucket() -> None:
    for version in (4, 6):
        keys = [ends[0] + ends[1] + ports for ends, ports in _both(version)]
        for parts in (1, 2, 16):
            found = [[Bucket(number, parts).holds(key) for number in range(parts)] for key in keys]
            assert found[0] == found[1]
            assert sum(found[0]) == 1


@pytest.mark.slow
@settings(max_examples=10)
@given(troubled(), st.integers(2, 4), st.sampled_from((400, 1 << 20)))
def test_all_buckets_count_the_same_records_without_a_connection(data: bytes, parts: int, block: int) -> None:
    made = table([index % 5 for index in range(SLOTS)], parts)
    states = [State(), *(State(bucket=(number, parts), shares=made) for number in range(parts))]
    found = [all_events([*read([io.BytesIO(data)], state=each, block=block), finish(each)]) for each in states]
    whole = states[0]
    for each in states:
        assert each.records == whole.records
        assert +each.reassembler.skipped == +whole.reassembler.skipped
        assert each.secrets == whole.secrets
    assert sorted(map(repr, _as_rows(found[0]))) == sorted(repr(row) for each in found[1:] for row in _as_rows(each))


def _as_rows(found: ReadEvents) -> list[object]:
    """Return packets without the numbers of connections, which each bucket counts by itself."""
    return [each._replace(ends=each.ends._replace(number=0)) for each in found.packets]


def _both(version: int) -> list[tuple[tuple[bytes, bytes], bytes]]:
    wire = Wire(version)
    ports = [port.to_bytes(2, "big") for port in wire.ports]
    return [(wire.ends[0], ports[0] + ports[1]), (wire.ends[1], ports[1] + ports[0])]


@pytest.mark.slow
def test_the_state_does_not_grow_with_ended_connections() -> None:
    state, sizes = State(), list[int]()
    for round in range(4):
        packets = []
        for number in range(600):
            wire = Wire(port=1024 + number, isn=(round * 1000, number))
            sent = CONNECTS[V5]
            packets += [*wire.opening(), wire.packet(0, 0, sent), wire.packet(1, 0, CONNACKS[V5], ack=len(sent))]
            packets += [wire.packet(0, len(sent), flags=RST | 16)]
        all_events(read([io.BytesIO(pcap(framed(packets)))], state=state))
        sizes.append(len(pickle.dumps(state)))
    assert sizes[-1] < sizes[1] * 1.5
    assert finish(state).others == []


def test_a_state_of_many_connections_that_say_little_is_small() -> None:
    state = State()
    packets = [each for number in range(1000) for each in Wire(port=1024 + number).opening()]
    all_events(read([io.BytesIO(pcap(framed(packets)))], state=state))
    assert len(pickle.dumps(state)) < 1_000_000
    packets = [Wire(port=1024, isn=(5, 5)).packet(0, -1, flags=SYN)]
    all_events(read([io.BytesIO(pcap(framed(packets)))], state=again(state)))
