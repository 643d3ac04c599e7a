"""What fuzzing found, each under the name of what it was."""

import gc
import struct
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

from mqttpub.capture.containers import pcap, pcapng
from mqttpub.capture.containers.buffer import Buffer
from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.protocol.http_upgrade import LONGEST_HEAD
from mqttpub.capture.types import BadCapture, Chunk, Flow
from mqttpub.codec.encode import encode
from mqttpub.lint.connection import Conversation
from mqttpub.lint.connection.state import ConnectionState
from mqttpub.lint.judge import Judge
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Endpoints, PacketSeen
from tests.build.frames import SYN
from tests.build.websocket import request
from tests.checks import steps
from tests.fuzz.growth import CONNECT, client_wire, pcap_pieces
from tests.fuzz.memory import MemoryCase, peak

V5, CLIENT = Version.V5, Direction.CLIENT
MB = 1 << 20


def kept(action: Callable[[], object]) -> int:
    """Return the bytes that are still in use when an action is done, its result included."""
    action()
    tracemalloc.start()
    try:
        result = action()
        return tracemalloc.get_traced_memory()[0] if result is not None else 0
    finally:
        tracemalloc.stop()


def seen(number: int, data: bytes, offset: int = 0) -> PacketSeen:
    return PacketSeen(Endpoints(number, f"c:{number}", "s:1883"), number, number, data, offset, CLIENT, V5, False)


# memory of the rules of a conversation


def test_the_memory_of_a_conversation_is_free_as_soon_as_it_is_over() -> None:
    """Its two ends knew each other in a circle, which only the garbage collector opened: after minutes."""
    judge = Judge()
    judge.packet(seen(1, CONNECT))
    gc.collect()
    gc.disable()
    try:
        assert any(isinstance(each, ConnectionState) for each in gc.get_objects())
        for direction in Direction:
            judge.event(Closed(Endpoints(1, "c:1", "s:1883"), 2, 2, direction, "FIN"))
        judge.event(Closed(Endpoints(1, "c:1", "s:1883"), 2, 2, None, "end"))
        assert not any(isinstance(each, ConnectionState) for each in gc.get_objects())
    finally:
        gc.enable()


def test_a_conversation_that_is_open_takes_few_kilobytes() -> None:
    """It took nine, and of them the half for the names of attributes."""

    def talks() -> list[Conversation]:
        made = [Conversation(V5) for _ in range(100)]
        for talk in made:
            talk.fast(CONNECT, Connect(client_id="c"), CLIENT, 1, V5)
        return made

    assert kept(talks) / 100 < 6000


def test_open_conversations_do_not_keep_long_packets() -> None:
    """Each kept its CONNECT, its last packet and the topic of it, for as long as it was open."""
    name = Connect(client_id="x" * 60_000, username="u" * 60_000, password=b"p" * 60_000)
    sent = Publish(topic="t" * 60_000, payload=bytes(60_000))

    def talks() -> list[Conversation]:
        made = [Conversation(V5) for _ in range(20)]
        for talk in made:
            talk.fast(bytes(60_000), name.replace(client_id="x" * 60_000 + "y"), CLIENT, 1, V5)
            data = bytes(120_000)
            talk.fast(data, sent.replace(topic="t" * 60_000 + "u"), CLIENT, 2, V5)
        return made

    assert kept(talks) / 20 < 10_000


def test_long_topics_are_not_remembered() -> None:
    """Ten thousand of them were, of up to 65,535 bytes."""

    def judge() -> Judge:
        made, at = Judge(), 0
        for data in (CONNECT, *(encode(Publish(topic=f"{number}/" + "x" * 40_000), V5) for number in range(50))):
            made.packet(seen(1, data, at))
            at += len(data)
        return made

    assert kept(judge) < MB // 2


# memory of readers


@pytest.mark.parametrize("size", [250 * MB, 17 * MB])
def test_a_record_is_not_larger_than_any_frame(size: int) -> None:
    """A file of a megabyte, compressed, held one record of 250 MB, which took 700 MB."""
    assert pcap.LARGEST == pcapng.LARGEST < size
    head = struct.pack("<IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, 1 << 31, 101)

    def pieces() -> Iterator[bytes]:
        yield head + struct.pack("<IIII", 1, 1, size, size)
        yield from (bytes(MB) for _ in range(size // MB))

    given = pieces()
    tracemalloc.start()
    try:
        buffer = pcap_buffer(given)
        with pytest.raises(BadCapture, match=f"claims {size} bytes, but at most {pcap.LARGEST} are possible"):
            list(pcap.records(buffer))
        assert tracemalloc.get_traced_memory()[1] < 4 * MB
    finally:
        tracemalloc.stop()


def pcap_buffer(pieces: Iterator[bytes]) -> Buffer:
    """Return a buffer on pieces."""
    return Buffer(lambda _: next(pieces, b""))


# time


def flow(number: int, port: int) -> Flow:
    """Return one of many connections."""
    return Flow(number, (f"10.1.0.{number}:50000", f"10.0.0.2:{port}"), (50_000, port), True)


def test_an_upgrade_whose_answer_comes_byte_by_byte() -> None:
    """With every segment the heads of both sides were looked for and read again: a millisecond for each byte."""
    asked = request().replace(b"Host: b\r\n", b"a:b\r\n" * (LONGEST_HEAD // 6))
    plain = request()

    def answered(request_head: bytes) -> int:
        made = MqttDemux()
        list(made.feed(Chunk(flow(1, 80), 0, 1, 1, request_head)))
        return steps(lambda: [list(made.feed(Chunk(flow(1, 80), 1, at, at + 2, b"x"))) for at in range(500)])

    assert answered(asked) <= 2 * answered(plain)


# memory of very many connections


def streams(port: int, first: bytes, more: bytes, *, side: int = 0) -> int:
    """Return the memory that a thousand connections take together that begin with bytes and go on with others."""

    def made() -> MqttDemux:
        all = MqttDemux()
        for number in range(1, 1001):
            for record, data in enumerate((first, *[more] * 20), 1):
                list(all.feed(Chunk(flow(number, port), side, record, record, data)))
        return all

    tracemalloc.start()
    try:
        assert made()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_unfinished_packets_of_many_connections() -> None:
    assert streams(1883, CONNECT + b"\x30\xff\xff\xff\x7f\0\1a", bytes(3000)) < 48 * MB


@pytest.mark.slow
def test_connections_of_which_it_is_open_what_they_are() -> None:
    assert streams(4711, b"\xfe", b"\xfe" * 3000, side=1) < 48 * MB


@pytest.mark.slow
def test_upgrades_of_many_connections() -> None:
    assert streams(80, request()[:-2], b"a: b\r\n" * 500) < 48 * MB


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", CONNECT])
def test_many_open_connections(data: bytes) -> None:
    def packets() -> Iterator[bytes]:
        for number in range(16_000):
            wire = client_wire(number)
            yield wire.packet(0, -1, flags=SYN)
            if data:
                yield wire.packet(0, 0, data)

    assert peak(MemoryCase(lambda: pcap_pieces(packets())).written()) < 64_000
