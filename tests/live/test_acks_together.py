"""Acknowledgements that are taken together have the outcomes that they have one by one."""

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.frame_runs import FrameRun, take_acks
from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.codec.stream import ConnectionStreams, Stream
from mqttpub.live import tap as tap_module
from mqttpub.live.failures import PeerFault
from mqttpub.live.incoming import Incoming
from mqttpub.live.net.target import Target
from mqttpub.live.publish.durability import DurableSender, NoJournal
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import TRANSITIONS, OutgoingMessage, Publication, Sender
from mqttpub.live.publish.sources import Listed
from mqttpub.live.shield import SHIELD
from mqttpub.live.tap import Tap
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer, Script, scripted, scripted_many

MESSAGES = 12
PLAIN = (b"", b"", b"\x00", b"\x10")


def acks(
    firsts: tuple[int, ...], rests: tuple[bytes, ...], ids: tuple[int, int] = (1, MESSAGES)
) -> st.SearchStrategy[bytes]:
    """Return acknowledgements with these first bytes, and one of these after the Packet Identifier."""
    return st.builds(
        lambda first, packet_id, rest: bytes((first, 2 + len(rest), 0, packet_id)) + rest,
        st.sampled_from(firsts), st.integers(*ids), st.sampled_from(rests),
    )  # fmt: skip


FITTING = {1: acks((0x40,), PLAIN), 2: acks((0x50, 0x50, 0x70), PLAIN)}
"""Usual acknowledgements by QoS; also repeats, strays, and some out of order."""
ACKS = acks((0x40, 0x50, 0x70, 0x42), (*PLAIN, b"\x87", b"\x01", b"\x10\x00", b"\x87\x05\x1f\x00\x02no"), (0, 13))
"""Acknowledgements, also refusals, and some that no broker may send."""
OTHERS = st.sampled_from((bytes.fromhex("d000"), bytes.fromhex("30050001610078")))


class ChunkSocket:
    """A socket that gives these chunks of bytes, then nothing."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks

    def recv(self, most: int) -> bytes:
        if not self.chunks:
            raise BlockingIOError
        return self.chunks.pop(0)


def outcome(chunks: list[bytes], version: Version, qos: int, *, durable: bool, together: bool) -> object:
    """Return everything that a sender and an observer know after these chunks."""
    sender = DurableSender(version, NoJournal()) if durable else Sender(version)
    writer = PublishWriter(Publish(topic="a", qos=qos), version)
    begun = [sender.publish(Publication(writer, b"x", None, number), 1.0) for number in range(MESSAGES)]
    sender.take_output()
    seen: list[object] = []
    tap = Tap(ChunkSocket(chunks), version, lambda now, frame: seen.append(frame))
    incoming = Incoming(Target("peer", version=version), sender, None)
    list(tap._cut.feed(Direction.SERVER, bytes.fromhex("2003000000" if version == Version.V5 else "20020000")))
    incoming.connack = object()  # type: ignore[assignment]
    tap.joins_acks = together
    fault = ""
    try:
        while tap.sock.chunks:
            tap.pump()
            incoming.read_flows(tap)
    except PeerFault as error:
        fault = str(error)
    states = [
        (each.awaits, each.acked_at_s is None, each.reason_code, each.reason_string, each.may_repeat, each.sent_in)
        for each in begun
    ]
    ended = [each.token for each in sender.ended]
    released = [each.token for each in sender._released] if isinstance(sender, DurableSender) else []
    return fault, states, list(sender.open), ended, released, sender.output, list(sender.strays), seen


def bulk(data: bytes, sender: Sender, *, chunk_bytes: int = 65_536) -> tuple[Incoming, Tap]:
    """Return a connection that has read these bytes after a CONNACK."""
    chunks = [data[at : at + chunk_bytes] for at in range(0, len(data), chunk_bytes)]
    tap = Tap(ChunkSocket(chunks), sender.version)
    incoming = Incoming(Target("peer", version=sender.version), sender, None)
    list(tap._cut.feed(Direction.SERVER, bytes.fromhex("20020000")))
    incoming.connack = object()  # type: ignore[assignment]
    tap.joins_acks = True
    while chunks:
        tap.pump()
    return incoming, tap


@given(st.data(), st.sampled_from(Version), st.sampled_from((1, 2)), st.booleans(), st.sets(st.integers(0, 250)))
def test_acks_taken_together_do_what_they_do_one_by_one(
    data_: st.DataObject, version: Version, qos: int, durable: bool, cuts: set[int]
) -> None:
    usual = data_.draw(st.lists(FITTING[qos], max_size=30))
    packets = usual + data_.draw(st.lists(FITTING[qos] | ACKS | OTHERS, max_size=10))
    data = b"".join(packets)
    edges = sorted({0, len(data)} | {cut for cut in cuts if cut < len(data)})
    chunks = [data[start:end] for start, end in pairwise(edges)]
    one_by_one, together = (
        outcome(list(chunks), version, qos, durable=durable, together=each) for each in (False, True)
    )
    assert together == one_by_one


def test_an_interrupt_waits_until_the_acks_that_came_together_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    end = OutgoingMessage.end

    def interrupted(message: OutgoingMessage, reason: int | None, time_s: float, text: str) -> None:
        if message.packet_id == 3 and not SHIELD.postpones(KeyboardInterrupt()):
            raise KeyboardInterrupt
        end(message, reason, time_s, text)

    monkeypatch.setitem(TRANSITIONS[0x4], 0x4, interrupted)
    sender = Sender(Version.V311)
    writer = PublishWriter(Publish(topic="a", qos=1), Version.V311)
    for _ in range(MESSAGES):
        sender.publish(Publication(writer, b"x", None, None), 1.0)
    incoming, tap = bulk(b"".join(bytes((0x40, 2, 0, number)) for number in range(1, MESSAGES + 1)), sender)
    with pytest.raises(KeyboardInterrupt):
        incoming.read_flows(tap)
    assert not sender.open


def test_a_large_packet_is_not_looked_at_again_with_each_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []

    def counted(stream: Stream, direction: Direction, data: bytes) -> tuple[list[FrameRun], bytes]:
        looked_at.append(len(stream.pending + data))
        return take_acks(stream, direction, data)

    monkeypatch.setattr(tap_module, "take_acks", counted)
    bulk(bytes.fromhex("30c09a0c000161") + bytes(200_000 - 3), Sender(Version.V311), chunk_bytes=1000)
    assert sum(looked_at) <= 2_000


@given(st.lists(ACKS | OTHERS, max_size=20), st.integers(0, 10))
def test_runs_are_the_packets_in_a_row(packets: list[bytes], cut: int) -> None:
    data = b"".join(packets)[: -cut or None]
    frames = [frame.data for frame in ConnectionStreams(Version.V5).feed(Direction.SERVER, data)]
    stream = Stream(Direction.SERVER, Version.V5)
    stream.pass_over(7)
    list(stream.feed(data[: cut % 2]))
    runs, rest = take_acks(stream, Direction.SERVER, data[cut % 2 :])
    cut_out = [frame.data for run in runs for frame in run.frames]
    assert [(frame.data[2] << 8 | frame.data[3]) for run in runs for frame in run.frames] == [
        packet_id for run in runs for packet_id in run.packet_ids()
    ]
    taken = sum(map(len, cut_out))
    assert (stream.pending + rest, stream.offset) == (data[taken:], 7 + taken)
    assert cut_out == frames[: len(cut_out)]
    assert b"".join(run.data for run in runs) == data[: sum(map(len, cut_out))]
    assert [run.offset - 7 for run in runs] == [data.index(run.data, run.offset - 7) for run in runs]


def publisher(port: int, qos: int, count: int, **options: object) -> Publisher:
    messages = (
        Publication.of(Publish(topic="a", qos=qos, payload=b"%d" % number), Version.V5, number)
        for number in range(count)
    )
    target = Target("127.0.0.1", port, connect=Connect(client_id="test"))
    return Publisher(target, Listed(messages), PublishOptions(**{"timeout_s": 5.0, **options}))  # type: ignore[arg-type]


def pieces(way: str, data: bytes, random_: random.Random) -> Iterator[bytes]:
    """Yield what to send of acknowledgements at a time."""
    if way == "at once":
        yield data
        return
    at = 0
    while at < len(data):
        size = 1 if way == "byte by byte" else random_.randint(1, 13)
        yield data[at : at + size]
        at += size


def broker(way: str, window: int, count: int, most_seen: list[int]) -> Script:
    """Return a script that acknowledges in a random order whatever has come, and notes the most in flight."""

    def script(peer: Peer) -> None:
        random_ = random.Random(window)
        peer.accept(f"20 06 00 00 03 21 {window:04x}")
        flight: set[bytes] = set()
        finished = 0
        while finished < count:
            wanted = min(window, count - finished)
            due: list[bytes] = []
            while len(flight) < wanted or len(due) < wanted:
                packet = peer.packet()
                if packet[0] >> 4 == 3:
                    flight.add(packet[5:7])
                    due.append((b"\x40\x03%b\x10" if packet[0] & 2 else b"\x50\x02%b") % packet[5:7])
                else:
                    due.append(b"\x70\x02" + packet[2:4])
                most_seen[0] = max(most_seen[0], len(flight))
                if due[-1][0] == 0x50 and len(due) == wanted:
                    break
            random_.shuffle(due)
            for answer in due:
                if answer[0] != 0x50:
                    flight.discard(answer[2:4])
                    finished += 1
            for piece in pieces(way, b"".join(due), random_):
                peer.sock.sendall(piece)
        peer.packet()

    return script


@pytest.mark.parametrize("way", ["at once", "byte by byte", "in pieces"])
@pytest.mark.parametrize(("qos", "window"), [(1, 1), (1, 7), (1, 100), (2, 7)])
def test_acks_out_of_order_and_in_pieces_end_every_message(way: str, qos: int, window: int) -> None:
    most_seen = [0]
    with scripted(broker(way, window, 210, most_seen)) as port:
        ended = publisher(port, qos, 210).run_all()
    assert sorted(each.token for each in ended) == list(range(210))
    assert most_seen == [window]


@pytest.mark.parametrize("qos", [1, 2])
def test_a_connection_cut_with_a_window_outstanding_sends_it_again_and_nothing_else(qos: int) -> None:
    again: list[bytes] = []
    code = 0x40 if qos == 1 else 0x50

    def cut(peer: Peer) -> None:
        peer.accept("20 06 00 00 03 21 00 08")
        first = [peer.packet()[5:7] for _ in range(8)]
        # Three in order, one out of order, and a half.
        taken = [*first[:3], first[6]]
        peer.sock.sendall(b"".join(bytes((code, 2)) + each for each in taken) + bytes((code, 2, 0)))
        for _ in range(4):
            peer.packet()

    def resumed(peer: Peer) -> None:
        peer.accept("20 06 01 00 03 21 00 08")
        while (packet := peer.packet())[0] >> 4 != 14:
            again.append(packet)
            kind = packet[0] >> 4
            packet_id = packet[5:7] if kind == 3 else packet[2:4]
            peer.sock.sendall(bytes((0x70 if kind == 6 else code, 2)) + packet_id)

    with scripted_many([cut, resumed]) as port:
        ended = publisher(port, qos, 30, reconnects=1).run_all()
    assert sorted(each.token for each in ended) == list(range(30))
    marked = [packet for packet in again if packet[0] >> 4 == 3 and packet[0] & 8]
    assert {packet[-1:] for packet in marked} >= {b"3", b"4", b"5", b"7"}
    payloads = [packet[8:] for packet in again if packet[0] >> 4 == 3]
    assert not {b"0", b"1", b"2", b"6"} & set(payloads)
