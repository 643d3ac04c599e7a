"""Records are taken at once where that is possible, and one by one where not, with the same result."""

import io
import pickle
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.containers.registry import records as one_by_one
from mqttpub.capture.network.tcp import Reassembler
from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.types import CaptureRecord
from mqttpub.columns.read import finish, read
from mqttpub.columns.reassemble import framing, reassemble
from mqttpub.columns.reassemble.framing import Framing
from mqttpub.columns.reassemble.state import State
from mqttpub.traffic.events import Event, PacketSeen
from tests.build.frames import FIN, LINKS, SYN, UDP, Wire, fragments4, ipv4, pcap, records
from tests.build.pieces import CONNACKS, CONNECTS, PINGREQ, V5, V311, publish
from tests.build.troubled_captures import troubled
from tests.columns.batches import ReadEvents, all_events, scalar


class Fed(State):
    """Counts the records that are read by themselves."""

    fed = 0

    def feed(self, record: CaptureRecord):  # type: ignore[no-untyped-def]
        """Count."""
        self.fed += 1
        return super().feed(record)


def both(packets: list[bytes], *, link: str = "Ethernet", block: int = 1 << 20) -> int:
    """Check that columns give what single records do, and return how many records were read by themselves."""
    file = pcap(records(packets, LINKS[link]), LINKS[link].type)
    state, reassembler = Fed(), Reassembler()
    batches = list(read([io.BytesIO(file)], state=state, block=block))
    for record in one_by_one(io.BytesIO(file)):
        reassembler.feed(record)
    assert _sides(state.reassembler) == _sides(reassembler)
    assert all_events([*batches, finish(state)]) == scalar(file)
    return state.fed


def spoken(wire: Wire, payloads: list[bytes], *, ack: int = 0) -> list[bytes]:
    """Return what a client sends that has sent its CONNECT, each payload in a segment."""
    packets, at = [], len(CONNECTS[V5])
    for payload in payloads:
        packets.append(wire.packet(0, at, payload, ack=ack or len(CONNACKS[V5])))
        at += len(payload)
        packets.append(wire.packet(1, len(CONNACKS[V5]), b"", ack=at))
    return packets


def connected(wire: Wire) -> list[bytes]:
    """Return a handshake, CONNECT and CONNACK."""
    sent = CONNECTS[V5]
    return [*wire.opening(), wire.packet(0, 0, sent), wire.packet(1, 0, CONNACKS[V5], ack=len(sent))]


# how much is taken at once


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("version", [4, 6])
def test_nearly_all_records_are_taken_at_once(link: str, version: int) -> None:
    wire = Wire(version)
    fed = both([*connected(wire), *spoken(wire, [publish(bytes(number)) for number in range(200)])], link=link)
    assert fed < 15 if link not in ("SNAP", "three tags") else fed == 405


def test_packets_that_continue_in_other_segments() -> None:
    wire = Wire()
    stream = b"".join(publish(bytes(size)) for size in range(0, 3000, 100)) + publish(bytes(100_000))
    pieces = [stream[at : at + 700] for at in range(0, len(stream), 700)]
    assert both([*connected(wire), *spoken(wire, pieces)]) < 15
    for block in (3_000, 10_000):
        assert both([*connected(wire), *spoken(wire, pieces)], block=block) < 60


def test_after_a_retransmission_records_are_taken_at_once_again() -> None:
    wire = Wire()
    packets = [*connected(wire), *spoken(wire, [publish()] * 300)]
    again = [*packets[:200], packets[101], *packets[200:400], packets[399], packets[397], *packets[400:]]
    assert both(again) < 30
    # A block that begins with one is in order by itself.
    for count in range(195, 205):
        both([*packets[:count], *packets[101:120], *packets[count:]], block=1)
        both([*packets[:count], *packets[101:130], *packets[count:]], block=(count - 3) * 60)


@pytest.mark.parametrize("size", [2 << 20, 4 << 20])
def test_a_large_packet_is_not_copied_for_each_retransmission(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copied, frame = 0, Framing.frame

    def noted(framing: Framing, first: int, stop: int, begun: bytes | bytearray) -> object:
        nonlocal copied
        copied += len(begun)
        return frame(framing, first, stop, begun)

    monkeypatch.setattr(Framing, "frame", noted)
    wire, stream = Wire(), publish(bytes(size))
    sent = spoken(wire, [stream[at : at + 1400] for at in range(0, len(stream), 1400)])
    again = [packet for at in range(0, len(sent), 20) for packet in (*sent[at : at + 20], *sent[at : at + 2])]
    both([*connected(wire), *again])
    assert copied < 10 * size


def test_several_connections_take_turns() -> None:
    random = Random(1)
    queues = []
    for number in range(20):
        wire = Wire(random.choice((4, 6)), port=50_000 + number, isn=(random.getrandbits(32), 2**32 - 50))
        queues.append([*connected(wire), *spoken(wire, [publish(bytes(random.randrange(300))) for _ in range(50)])])
    merged = [queue.pop(0) for queue in random.choices(queues, k=10**5) if queue]
    assert len(merged) == 20 * 105
    assert both(merged) < 20 * 15


# what is read record by record


@pytest.mark.parametrize("odd", [CONNECTS[V311], b"\x30\xff\xff\xff\xff\x01", CONNECTS[V311][:9]])
@pytest.mark.parametrize("cut", [1, 4, 1000])
def test_a_second_connect_and_what_has_no_end(odd: bytes, cut: int) -> None:
    wire = Wire()
    pieces = [odd[at : at + cut] for at in range(0, len(odd), cut)]
    payloads = [*[publish()] * 40, *pieces, CONNECTS[V311][9:], *[publish(version=V311)] * 40]
    assert both([*connected(wire), *spoken(wire, payloads)]) > 80


def test_what_has_no_end_is_looked_for_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    tries, frame = Counter[str](), Framing.frame
    monkeypatch.setattr(Framing, "frame", lambda *given: tries.update("1") or frame(*given))
    wire = Wire()
    assert both([*connected(wire), *spoken(wire, [*[publish()] * 1000, b"\x30\xff\xff\xff\xff\x01"])]) > 2000
    assert tries.total() < 30


def test_an_end_that_is_connected_to_itself() -> None:
    wire = Wire()
    wire.ends, wire.ports = (wire.ends[0][:1] * 2,) * 2, (1883, 1883)
    packets, at = [wire.packet(0, 0, CONNECTS[V5])], len(CONNECTS[V5])
    for _ in range(40):
        packets.append(wire.packet(0, at, publish()))
        at += len(publish())
    assert both(packets) == 41


def test_an_end_and_a_connection_with_the_same_ports() -> None:
    packets = []
    for isn in (1000, 900_000_000, 2**32 - 4):
        wire = Wire(isn=(isn, isn + 5))
        packets += [*connected(wire), *spoken(wire, [publish()] * 50)]
        at = len(CONNECTS[V5]) + 50 * len(publish())
        packets += [wire.packet(0, at, flags=FIN | 16), wire.packet(1, len(CONNACKS[V5]), flags=FIN | 16, ack=at + 1)]
        packets += [wire.packet(0, at + 1, ack=len(CONNACKS[V5]) + 1)]
    assert both(packets) < 60


def test_a_gap_that_an_acknowledgement_tells() -> None:
    wire = Wire()
    packets = [*connected(wire), *spoken(wire, [publish()] * 100)]
    assert both([*packets[:105], *packets[106:]]) < 20
    # Here nothing shows the gap before the end of the capture, so that all after it waits.
    assert both([*packets[:105], *packets[107::2]]) > 40


def test_fragments_of_a_segment_have_their_turn() -> None:
    wire = Wire()
    packets = [*connected(wire), *spoken(wire, [publish(bytes(99))] * 100)]
    whole = packets[105]
    parts = fragments4(wire.ends[0], whole[20:], [48], 7)
    assert both([*packets[:105], *parts, *packets[106:]]) == 206
    # Those of UDP are of no concern.
    others = [ipv4(wire.ends[0], part[20:], protocol=UDP, id=9, first=0, more=True) for part in parts[:1]]
    assert both([*packets[:105], *others, *packets[105:]]) < 20


def test_frames_with_snap_that_are_longer_than_they_can_tell() -> None:
    wire = Wire()
    payloads = [*[publish()] * 30, publish(bytes(1480)), *[publish()] * 30]
    both([*connected(wire), *spoken(wire, payloads)], link="SNAP")


def test_records_without_a_segment_are_counted() -> None:
    wire = Wire()
    noise = [ipv4(wire.ends[0], bytes(30), protocol=UDP), b"\0" * 50]
    file = pcap(records([*connected(wire), *noise * 40]))
    state, reassembler = State(), Reassembler()
    all_events(read([io.BytesIO(file)], state=state))
    for record in one_by_one(io.BytesIO(file)):
        reassembler.feed(record)
    assert +state.reassembler.skipped == reassembler.skipped == Counter({"not TCP": 40, "not IP": 40})


# many connections


@pytest.mark.slow
@settings(max_examples=6)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from((1, 400, 3_000, 1 << 20)))
def test_few_connections_are_remembered(seed: int, most: int, block: int) -> None:
    random = Random(seed)
    queues = []
    for number in range(12):
        wire = Wire(port=50_000 + number)
        queues.append([*connected(wire), *spoken(wire, [publish(bytes([number]) * random.randrange(30))] * 30)])
    merged = [queue.pop(0) for queue in random.choices(queues, k=2000) if queue]
    file = pcap(records(merged))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reassemble, "FEWEST_IN_COLUMNS", 1)
        patch.setattr(reassemble, "FEWEST", 1)
        state = State()
        state.reassembler.flows.max_flows = most
        mine = all_events([*read([io.BytesIO(file)], state=state, block=block), finish(state)])
    assert mine == _few(file, most)


def _few(file: bytes, most: int) -> ReadEvents:
    reassembler, streams, found = Reassembler(max_flows=most), MqttDemux(), list[Event]()
    for record in one_by_one(io.BytesIO(file)):
        found += [event for piece in reassembler.feed(record) for event in streams.feed(piece)]
    found += [event for piece in reassembler.finish() for event in streams.feed(piece)]
    found += streams.finish()
    seen = [each for each in found if isinstance(each, PacketSeen)]
    return ReadEvents(seen, [each for each in found if not isinstance(each, PacketSeen)], found)


def test_a_scan_of_ports_does_not_stop_others() -> None:
    wire = Wire()
    scan = [Wire(port=1024 + number).packet(0, -1, flags=SYN) for number in range(3000)]
    assert both([*connected(wire), *scan, *spoken(wire, [PINGREQ] * 200)]) < 3020


# the state after it is that of single records


@pytest.mark.slow
@settings(max_examples=10)
@given(troubled(), st.sampled_from((200, 5_000, 1 << 20)))
def test_the_state_is_the_one_that_single_records_leave(data: bytes, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((reassemble, "FEWEST_IN_COLUMNS"), (reassemble, "FEWEST"), (framing, "FEWEST")):
            patch.setattr(module, name, 1)
        state = State()
        list(read([io.BytesIO(data)], state=state, block=block))
    reassembler, streams = Reassembler(), MqttDemux()
    for record in one_by_one(io.BytesIO(data)):
        for piece in reassembler.feed(record):
            list(streams.feed(piece))
    assert _sides(state.reassembler) == _sides(reassembler)
    assert _senders(state.streams, state.reassembler) == _senders(streams, reassembler)
    assert state.reassembler.counts == reassembler.counts
    assert +state.reassembler.skipped == +reassembler.skipped
    assert pickle.loads(pickle.dumps(state)).records == state.records


def _sides(reassembler: Reassembler) -> dict[bytes, tuple[object, ...]]:
    sides = reassembler.flows.recent
    return {key: (side.next, side.acked, side.ended, bool(side.waiting), side.flow) for key, side in sides.items()}


def _senders(streams: MqttDemux, reassembler: Reassembler) -> list[tuple[object, ...]]:
    flows = {side.flow for side in reassembler.flows.recent.values()}
    connections = [connection for flow in sorted(flows) if (connection := streams.connection(flow))]
    return [
        (each.offset, each.begun, each.version, each.guessed, each.ends, each.direction)
        for connection in connections
        for each in connection.senders
    ]


def test_segments_that_the_capture_cut_off() -> None:
    wire = Wire()
    whole = records([*connected(wire), *spoken(wire, [publish(bytes(200))] * 40)])
    cut = [each._replace(data=each.data[:120]) if each.number % 7 == 0 else each for each in whole]
    file = pcap(cut)
    found = all_events(read([io.BytesIO(file)]))
    assert found == scalar(file)
    assert [each for each in found.others if "cut off by the snap length" in str(each)]


@pytest.mark.parametrize("link", ["Ethernet", "SNAP"])
def test_a_connection_is_in_one_bucket_though_its_records_are_read_by_themselves(link: str) -> None:
    packets: list[bytes] = []
    for number in range(8):
        wire = Wire(port=50_000 + number)
        packets += [*connected(wire), *spoken(wire, [publish()] * 10)]
        packets += fragments4(
            wire.ends[0], wire.segment(0, len(CONNECTS[V5]) + 10 * len(publish()), publish()), [8], number
        )
    file = pcap(records(packets, LINKS[link]))
    found = [all_events(read([io.BytesIO(file)], bucket=(number, 3))).packets for number in range(3)]
    assert all(found)
    assert sum(map(len, found)) == len(scalar(file).packets) == 8 * 13
