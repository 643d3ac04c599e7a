"""Inputs that grow: made to take more time, or more memory, than their size."""

import gzip
import json
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import count
from random import Random
from typing import NamedTuple

from mqttpub.capture.logs.account import Log
from mqttpub.capture.logs.read import read_bytes
from mqttpub.capture.reading import CaptureEvents
from mqttpub.capture.text.source import BadText
from mqttpub.capture.text.transcript import events as transcript_events
from mqttpub.capture.types import BadCapture
from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.encode import encode
from mqttpub.codec.stream import Stream
from mqttpub.columns.scan.records import reader, records
from mqttpub.columns.scan.splits import index
from mqttpub.lint.packet.check import lint
from mqttpub.reading.follow import JudgedTraffic
from mqttpub.spec.packets import Connack, Connect, Publish, Subscribe, Subscription
from mqttpub.spec.versions import Version
from mqttpub.traffic.runs import items_of
from mqttpub.view.export.pdml import pdml
from mqttpub.view.export.tshark_json import tshark_json
from mqttpub.view.packet.dump import annotate
from mqttpub.view.packet.record_json import packet_record
from mqttpub.view.traffic.summary_json import JsonLines
from mqttpub.wire.types import VARIABLE
from tests.build.containers import Pcapng, RawRecord, zstd
from tests.build.frames import ACK, FIN, SYN, Wire, fragments4
from tests.build.websocket import answer, frame, request
from tests.fuzz.raw import packet
from tests.fuzz.scripts import SCRIPTS, WRITTEN, script, written
from tests.fuzz.wordy import (
    base64_lines,
    blanks,
    brackets,
    comments,
    dump_lines,
    dumps_of_packets,
    hex_lines,
    log_lines,
    long_record,
    one_line,
    one_line_of_words,
    quotes,
    records_as_json,
    rows_without_end,
    spaced_braces,
)

V5 = Version.V5
CONNECT, CONNACK = encode(Connect(client_id="c"), V5), encode(Connack(), V5)
PING = b"\xc0\x00"
START = 1_700_000_000


class Growth(NamedTuple):
    """A kind of input: how to make one of a size, how to use it, and the size at which it takes some milliseconds."""

    make: Callable[[int], bytes]
    use: Callable[[bytes], object]
    size: int


# uses


def tree(data: bytes) -> None:
    """Decode, judge and show one packet in every way."""
    decoded = decode(data, V5)
    decoded.findings = lint(decoded)
    decode_packet(data, V5)
    for _ in annotate(decoded, limit=None):
        pass
    packet_record(decoded)
    for lines in (pdml([(decoded, None)]), tshark_json([(decoded, None)])):
        for _ in lines:
            pass


def chunk(data: bytes) -> None:
    """Cut a stream into packets, in one piece."""
    for _ in Stream().feed(data):
        pass


def dribbled(data: bytes) -> None:
    """Cut a stream into packets, byte by byte."""
    made = Stream()
    for at in range(len(data)):
        for _ in made.feed(data[at : at + 1]):
            pass


def capture(data: bytes) -> None:
    """Read a capture to the line of every packet."""
    lines = JsonLines()
    try:
        for known in items_of(JudgedTraffic(CaptureEvents(BytesIO(data)).events())):
            lines.line(known)
    except BadCapture:
        pass


def columns(data: bytes) -> None:
    """Find the parts of a capture, and read its records as columns."""
    index(BytesIO(data), len(data), size=len(data) // 3)
    for _ in records(reader(BytesIO(data)), Counter()):
        pass


def text(data: bytes) -> None:
    """Read text that somebody pasted."""
    try:
        for _ in read_bytes(data, "auto", Log()):
            pass
    except BadText:
        pass


def transcript(data: bytes) -> None:
    """Read our own output."""
    try:
        for _ in transcript_events(data.decode().splitlines(keepends=True)):
            pass
    except BadText:
        pass


# packets


def _publish(properties: bytes, payload: bytes = b"") -> bytes:
    return packet(0x30, b"\0\1a" + VARIABLE.write(len(properties)) + properties + payload)


def user_properties(size: int) -> bytes:
    """Return a PUBLISH of many User Properties."""
    return _publish(b"\x26\0\1k\0\1v" * size)


def doubled_properties(size: int) -> bytes:
    """Return a PUBLISH with the same property again and again."""
    return _publish(b"\x01\x01" * size)


def unknown_properties(size: int) -> bytes:
    """Return a PUBLISH of properties, the last unknown."""
    return _publish(b"\x0b\x01" * size + b"\x7f")


def deep_filters(size: int) -> bytes:
    """Return a SUBSCRIBE with filters of many levels."""
    each = struct.pack(">H", 2000) + b"+/" * 1000 + b"\0"
    return packet(0x82, b"\0\1\0" + each * size)


def many_filters(size: int) -> bytes:
    """Return a SUBSCRIBE of many filters."""
    return packet(0x82, b"\0\1\0" + b"".join(b"\0\4%04x\0" % (each & 0xFFFF) for each in range(size)))


def many_reasons(size: int) -> bytes:
    """Return a SUBACK of many Reason Codes that are not known."""
    return packet(0x90, b"\0\1\0" + b"\x7f" * size)


def nested(size: int) -> bytes:
    """Return a PUBLISH of nested JSON."""
    return _publish(b"", b"[" * size + b"]" * size)


def members(size: int) -> bytes:
    """Return a PUBLISH of JSON with many members."""
    return _publish(b"", json.dumps({f"k{each}": [each, {}] for each in range(size)}).encode())


def no_json(size: int) -> bytes:
    """Return a PUBLISH whose payload looks like JSON up to its end."""
    return _publish(b"", b'["' + b'\\"' * size)


def controls(size: int) -> bytes:
    """Return a PUBLISH of text that has to be escaped."""
    return _publish(b"", ("\u202e\x1b\u0085" * size).encode())


def small_packets(size: int) -> bytes:
    """Return many packets of two bytes."""
    return PING * size


def small_bytes(size: int) -> bytes:
    """Return a packet to be read byte by byte."""
    return _publish(b"", bytes(size))


# records


def pcap_pieces(packets: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a capture of raw IP packets, record by record."""
    yield struct.pack("<IHHiIII", 0xA1B2_3C4D, 2, 4, 0, 0, 0x40000, 101)
    for at, each in enumerate(packets):
        yield struct.pack("<IIII", START + at // 1000, at % 1000 * 10**6, len(each), len(each)) + each


def _pcap(packets: Iterable[bytes]) -> bytes:
    return b"".join(pcap_pieces(packets))


def said(pieces: Iterable[bytes], size: int, *, opened: bool = True) -> Iterator[bytes]:
    """Yield the packets of a client that sends each piece in segments of a size."""
    wire, start = Wire(), 0
    yield from wire.opening() if opened else ()
    for data in pieces:
        yield from (wire.packet(0, start + at, data[at : at + size]) for at in range(0, len(data), size))
        start += len(data)


def tiny_packets(size: int) -> bytes:
    """Return many packets in few segments."""
    return _pcap(said([CONNECT + PING * size], 1400))


def tiny_segments(size: int) -> bytes:
    """Return packets in segments of one byte."""
    return _pcap(said([CONNECT + PING * size], 1))


def messages(size: int) -> bytes:
    """Return many messages of QoS 1 that nobody acknowledges, with long topics that differ."""
    each = (Publish(topic=f"{at}/" + "x" * 200, qos=1, packet_id=at % 65535 + 1) for at in range(size))
    return _pcap(said([CONNECT + b"".join(encode(one, V5) for one in each)], 1400))


def aliased(size: int) -> bytes:
    """Return messages that set aliases."""
    each = (b"\0\4%04x\3\x23" % (at & 0xFFFF) + struct.pack(">H", at % 65535 + 1) for at in range(size))
    return _pcap(said([CONNECT + b"".join(packet(0x30, one) for one in each)], 1400))


def subscribed(size: int) -> bytes:
    """Return as many subscriptions as messages."""
    asked = (
        Subscribe(packet_id=at % 65535 + 1, subscriptions=(Subscription(filter=f"+/{at}/#"),)) for at in range(size)
    )
    data = b"".join(encode(one, V5) for one in asked)
    data += b"".join(encode(Publish(topic=f"a/{at}/b", retain=True), V5) for at in range(size))
    return _pcap(said([CONNECT + data], 1400))


def reversed_segments(size: int) -> bytes:
    """Return segments of which the first comes last."""
    wire, data = Wire(), CONNECT + PING * size
    packets = [wire.packet(0, at, data[at : at + 20]) for at in range(0, len(data), 20)]
    return _pcap([*wire.opening(), *reversed(packets)])


def shuffled_segments(size: int) -> bytes:
    """Return segments in any order, which overlap, the first last."""
    wire, data = Wire(), CONNECT + PING * size
    packets = [wire.packet(0, at, data[at : at + 60]) for at in range(0, len(data), 20)]
    late = packets[1:]
    Random(1).shuffle(late)
    return _pcap([*wire.opening(), *late, packets[0]])


def holes(size: int) -> bytes:
    """Return every other segment, of which nothing is acknowledged."""
    wire, data = Wire(), CONNECT + PING * size
    return _pcap([*wire.opening(), *(wire.packet(0, at, data[at : at + 10]) for at in range(0, len(data), 20))])


def overlapping(size: int) -> bytes:
    """Return long segments, each two bytes further on than the one before, behind a hole."""
    wire, data = Wire(), PING * size
    return _pcap([*wire.opening(), *(wire.packet(0, 10 + at, data[at : at + 1000]) for at in range(0, len(data), 2))])


def within(size: int) -> bytes:
    """Return one long segment that comes first, behind a hole, and then parts of it."""
    wire, data = Wire(), PING * 30_000
    late = [wire.packet(0, 10 + at % 50_000, data[:2]) for at in range(0, size * 7, 7)]
    return _pcap([*wire.opening(), wire.packet(0, 10, data), *late])


def opened(size: int) -> bytes:
    """Return connections of which only the first packet was captured."""
    return _pcap(client_wire(at).packet(0, -1, flags=SYN) for at in range(size))


def connected(size: int) -> bytes:
    """Return connections that send a CONNECT and stay open."""
    return _pcap(
        each
        for at in range(size)
        for each in (client_wire(at).packet(0, -1, flags=SYN), client_wire(at).packet(0, 0, CONNECT))
    )


def client_wire(number: int) -> Wire:
    """Return the connection of one of many clients."""
    wire = Wire(port=1024 + number % 60_000)
    client = struct.pack(">BBH", 10, 1, number // 60_000)
    wire.ends = ((client, wire.ends[0][1]), (wire.ends[0][1], client))
    return wire


def closed(size: int) -> bytes:
    """Return connections that send a CONNECT and close."""
    return _pcap(
        each
        for at in range(size)
        for each in (
            client_wire(at).packet(0, -1, flags=SYN), client_wire(at).packet(0, 0, CONNECT, flags=ACK | FIN),
            client_wire(at).packet(1, 0, flags=ACK | FIN, ack=len(CONNECT) + 1),
        )
    )  # fmt: skip


def fragments(size: int) -> bytes:
    """Return IP packets in fragments of 8 bytes."""
    wire, number, made = Wire(), count(), list[bytes]()
    for at in range(0, size * 8, 1200):
        segment = wire.segment(0, at, (CONNECT + PING * 600)[:1200] if not at else PING * 600)
        made += fragments4(wire.ends[0], segment, range(0, 1300, 8), next(number) & 0xFFFF)
    return _pcap([*wire.opening(), *made])


def lone_fragments(size: int) -> bytes:
    """Return fragments whose rest is missing."""
    wire = Wire()
    segment = wire.segment(0, 0, PING * 600)
    return _pcap(fragments4(wire.ends[0], segment, [16, 800], at & 0xFFFF)[1] for at in range(size))


def packets_like(size: int) -> bytes:
    """Return a stream, captured within, in which a packet may begin anywhere but none is sure."""
    return _pcap(said([(b"\x30\x05\0\x03a" * (size // 5 + 1))[:size]], 700, opened=False))


def nobody_knows(size: int) -> bytes:
    """Return a connection on another port, captured within, in which nothing tells what it is."""
    packets = said([(b"\x40\x02" * size)[:size]], 1, opened=False)
    return _pcap(each.replace(struct.pack(">H", 1883), struct.pack(">H", 4711), 1) for each in packets)


# WebSocket


def _upgraded(asked: bytes, answered: bytes, sent: bytes, size: int) -> bytes:
    wire = Wire()

    def packets() -> Iterator[bytes]:
        yield from wire.opening()
        yield from (wire.packet(0, at, asked[at : at + 1400]) for at in range(0, len(asked), 1400))
        yield from (wire.packet(1, at, answered[at : at + size]) for at in range(0, len(answered), size))
        for at in range(0, len(sent), size):
            yield wire.packet(0, len(asked) + at, sent[at : at + size])

    return _pcap(packets())


def websocket_fragments(size: int) -> bytes:
    """Return a message of frames with one byte each."""
    data = CONNECT + PING * (size // 2)
    frames = [frame(data[at : at + 1], 0 if at else 2, fin=at == len(data) - 1) for at in range(len(data))]
    return _upgraded(request(), answer(), b"".join(frames), 1400)


def empty_frames(size: int) -> bytes:
    """Return frames without payload."""
    return _upgraded(request(), answer(), frame(CONNECT) + frame(b"") * size, 1400)


def pings(size: int) -> bytes:
    """Return control frames."""
    return _upgraded(request(), answer(), frame(CONNECT) + frame(b"x" * 100, 9) * size, 1400)


def deflated(size: int) -> bytes:
    """Return a message that inflates to much more."""
    packer = zlib.compressobj(9, wbits=-15)
    data = packer.compress(CONNECT + PING * size) + packer.flush(zlib.Z_SYNC_FLUSH)
    extensions = "permessage-deflate"
    sent = frame(data.removesuffix(b"\0\0\xff\xff"), rsv=0x40)
    return _upgraded(request(extensions=extensions), answer(extensions=extensions), sent, 1400)


def slow_answer(size: int) -> bytes:
    """Return an upgrade with many headers, whose answer comes byte by byte."""
    asked = request().replace(b"Host: b\r\n", b"a:b\r\n" * 10_000)
    return _upgraded(asked, answer().replace(b"HTTP/1.1 101", b"HTTP/1.1 101 " + b"x" * size, 1), b"", 1)


def slow_request(size: int) -> bytes:
    """Return a request of many headers that comes byte by byte."""
    return _pcap(said([request().replace(b"Host: b\r\n", b"a:b\r\n" * (size // 5))], 1))


def hello(size: int) -> bytes:
    """Return a ClientHello that comes byte by byte."""
    return _pcap(said([b"\x16\x03\x01" + struct.pack(">H", 0xFFFF) + b"\1" + bytes(size)], 1))


# files


def zeros(size: int) -> bytes:
    """Return a compressed pcap of records without bytes."""
    return gzip.compress(_pcap(()) + bytes(16) * size, mtime=0)


def zstd_zeros(size: int) -> bytes:
    """Return the same in Zstandard."""
    return zstd(_pcap(()) + bytes(16) * size)


def gzip_members(size: int) -> bytes:
    """Return a pcap in gzip of which each member holds one byte."""
    data = _pcap(()) + bytes(16) * (size // 16)
    return b"".join(gzip.compress(data[at : at + 1], mtime=0) for at in range(len(data)))


def zstd_frames(size: int) -> bytes:
    """Return a pcap in Zstandard of which each frame holds one byte."""
    data = _pcap(()) + bytes(16) * (size // 16)
    return b"".join(zstd(data[at : at + 1]) for at in range(len(data)))


def interfaces(size: int) -> bytes:
    """Return a pcapng of many interfaces."""
    made = Pcapng()
    made.section()
    for _ in range(size):
        made.interface(1, 0, 9, 1)
    return made.written().data


def options(size: int) -> bytes:
    """Return a pcapng whose interfaces have many options."""
    made = Pcapng()
    made.section()
    for _ in range(size // 1000 + 1):
        made.interface(1, 0, None, None, *[(2988, b"")] * 1000)
    return made.written().data


def sections(size: int) -> bytes:
    """Return a pcapng of many sections, with blocks that nobody knows and secrets between."""
    made = Pcapng()
    for at in range(size):
        made.section("<>"[at % 2])
        made.block(0xBAD, b"")
        made.secrets(0x544C534B, b"x\n")
        made.interface(101)
        made.simple(b"")
    return made.written().data


def packet_blocks(size: int) -> bytes:
    """Return a pcapng of packets of many interfaces in turn."""
    made = Pcapng()
    made.section()
    for _ in range(100):
        made.interface(101)
    for at in range(size):
        made.enhanced(at % 100, RawRecord(at, b""))
    return made.written().data


def odd_clock(size: int) -> bytes:
    """Return a pcapng of packets whose times are not whole nanoseconds, so that each is read by itself."""
    made = Pcapng()
    made.section()
    made.interface(101, 0, 0x80 | 30)
    for at in range(size):
        made.enhanced(0, RawRecord(at, b""))
    return made.written().data


GROWTHS: dict[str, Growth] = {
    f"{use.__name__} {made.__name__}": Growth(made, use, size)
    for use, size, cases in (
        (tree, 300, (user_properties, doubled_properties, unknown_properties, many_filters, many_reasons)),
        (tree, 6, (deep_filters,)),
        (tree, 2000, (nested, members, no_json, controls)),
        (chunk, 20_000, (small_packets,)),
        (dribbled, 20_000, (small_bytes,)),
        (capture, 700, (
            tiny_packets, tiny_segments, messages, aliased, subscribed, reversed_segments, shuffled_segments, holes,
            within, opened, connected, closed, fragments, lone_fragments, packets_like, nobody_knows,
            websocket_fragments, empty_frames, pings, deflated, slow_request, hello, interfaces, options, sections,
            packet_blocks, gzip_members, zstd_frames,
        )),
        (columns, 4000, (interfaces, sections, packet_blocks, odd_clock)),
        (capture, 150, (overlapping,)),
        (capture, 1000, (slow_answer,)),
        (capture, 15_000, (zeros, zstd_zeros)),
        (text, 1000, (hex_lines, dump_lines, brackets, comments, quotes, one_line, base64_lines, blanks)),
        (text, 200, (log_lines, rows_without_end, one_line_of_words)),
        (transcript, 1000, (records_as_json, dumps_of_packets, long_record, spaced_braces)),
    )
    for made in cases
} | {
    f"{use.__name__} {name}": Growth(make, use, 20_000)
    for use, kinds in ((script, SCRIPTS), (written, WRITTEN))
    for name, make in kinds.items()
}  # fmt: skip
"""All kinds of inputs by name."""
