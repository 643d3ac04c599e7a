"""WebSocket on a connection: the upgrade, frames, and what is wrong with them."""

import base64
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.protocol.demux import MqttDemux
from mqttpub.capture.protocol.handler import MemoryBudget
from mqttpub.capture.protocol.http_upgrade import head
from mqttpub.capture.protocol.websocket import PIECE, Inflater, WebSocketError, WebSocketFrames, unmasked
from mqttpub.capture.types import Chunk
from mqttpub.spec.versions import Direction
from mqttpub.traffic.events import Closed, Event, GapSeen, PacketSeen, Remark
from tests.build.pieces import (
    CLIENT,
    CONNACKS,
    CONNECTS,
    PINGREQ,
    SERVER,
    V5,
    V311,
    Script,
    Sent,
    bites,
    chunked,
    flow,
    gaps,
    packets_in,
    publish,
    remarks,
    seen,
    sent,
)
from tests.strategies import conversations, versions

BINARY, TEXT, CLOSE, PING, PONG = 2, 1, 8, 9, 10
MASK = bytes.fromhex("37fa213d")
DEFLATE = "permessage-deflate"
talks = versions.flatmap(lambda version: conversations(version, max_size=4).map(lambda talk: sent(version, talk)))


def frame(
    payload: bytes, opcode: int = BINARY, *, mask: bytes = b"", fin: bool = True, bits: int = 0, size: int = 0
) -> bytes:
    """Return a frame; `size` is the number of bytes of its length field, if not the least."""
    least = 0 if len(payload) < 126 else 2 if len(payload) < 65536 else 8
    size = size or least
    short = {0: len(payload), 2: 126, 8: 127}[size]
    head = bytes((opcode | (0x80 if fin else 0) | bits, short | (0x80 if mask else 0)))
    return head + (len(payload).to_bytes(size, "big") if size else b"") + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    return bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload)) if mask else payload


def mine(payload: bytes, opcode: int = BINARY, **more: Any) -> bytes:
    """Return a frame of a client."""
    return frame(payload, opcode, mask=MASK, **more)


def request(protocol: str = "mqtt", path: str = "/mqtt") -> bytes:
    key = base64.b64encode(bytes(16)).decode()
    lines = [f"GET {path} HTTP/1.1", "Host: broker.test", "Upgrade: WebSocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
    lines += [f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []
    return "\r\n".join([*lines, "", ""]).encode()


def answer(protocol: str = "mqtt", *, extensions: str = "", status: str = "101 Switching Protocols") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []
    lines += [f"sec-websocket-extensions: {extensions}"] if extensions else []
    return "\r\n".join([*lines, "", ""]).encode()


def upgraded(extensions: str = "", protocol: str = "mqtt") -> Script:
    return Script(flow()).send(CLIENT, request()).send(SERVER, answer(protocol, extensions=extensions))


class Deflater:
    """Compresses the messages of one end."""

    def __init__(self, takeover: bool) -> None:
        self.takeover = takeover
        self.fresh()

    def fresh(self) -> None:
        self.compress = zlib.compressobj(9, zlib.DEFLATED, -15)

    def message(self, data: bytes) -> bytes:
        """Return a message as RFC 7692, section 7.2.1 wants it."""
        done = self.compress.compress(data) + self.compress.flush(zlib.Z_SYNC_FLUSH)
        if not self.takeover:
            self.fresh()
        return done.removesuffix(b"\0\0\xff\xff")


@st.composite
def framed(draw: st.DrawFn, data: bytes, end: Direction, deflater: Deflater | None) -> bytes:
    """Return bytes as messages that are fragmented, masked and compressed at random, with control frames between."""
    key = draw(st.binary(min_size=4, max_size=4).filter(any)) if end is CLIENT else b""
    frames: list[bytes] = []
    while data:
        size = draw(st.integers(1, 40) | st.just(len(data)))
        message, data = data[:size], data[size:]
        bits = 0
        if deflater and draw(st.booleans()):
            message, bits = deflater.message(message), 0x40
        parts = [message[at : at + 7] for at in range(0, len(message), 7)] if draw(st.booleans()) else [message]
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            size = draw(st.sampled_from((0, 2, 8))) if len(part) < 126 else 0
            opcode = 0 if number else BINARY
            frames.append(frame(part, opcode, mask=key, fin=last, bits=0 if number else bits, size=size))
            if not draw(st.integers(0, 5)):
                frames.append(frame(b"ping", draw(st.sampled_from((PING, PONG))), mask=key))
    return b"".join(frames)


# the law


@settings(max_examples=30)
@given(
    st.data(),
    talks,
    st.sampled_from(("", DEFLATE, f"{DEFLATE}; client_no_context_takeover; server_no_context_takeover")),
)
def test_however_it_is_framed_the_same_packets_come(data: st.DataObject, talk: Sent, extensions: str) -> None:
    script, parts = Script(flow()), [(CLIENT, request()), (SERVER, answer(extensions=extensions))]
    for end, chunk in parts:
        script.send(end, chunk)
    streams = []
    for end in Direction:
        deflater = Deflater("no_context" not in extensions) if extensions else None
        streams.append((end, data.draw(framed(talk.stream(end), end, deflater))))
    for end, chunk in data.draw(chunked(streams)):
        script.send(end, chunk)
    found = script.end("FIN", *Direction).events()
    assert not gaps(found)
    for end in Direction:
        assert seen(found, end) == talk.of(end)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.data(), talks, st.sampled_from(("", DEFLATE)))
def test_mutations_never_raise(data: st.DataObject, talk: Sent, extensions: str) -> None:
    streams = [(CLIENT, request()), (SERVER, answer(extensions=extensions))]
    for end in Direction:
        deflater = Deflater(True) if extensions else None
        streams.append((end, data.draw(framed(talk.stream(end), end, deflater))))
    script = Script(flow())
    for end, chunk in data.draw(chunked(streams)):
        raw = bytearray(chunk)
        for at in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=1)):
            raw[at] = data.draw(st.integers(0, 255))
        script.miss(end, len(raw)) if data.draw(st.integers(0, 9)) == 0 else script.send(end, bytes(raw))
    for each in script.end("FIN", *Direction).events():
        assert isinstance(each, (PacketSeen, GapSeen, Closed, Remark))


# the upgrade


def test_an_upgrade_is_reported_with_path_and_sub_protocol() -> None:
    found = upgraded().send(CLIENT, mine(CONNECTS[V5])).send(SERVER, frame(CONNACKS[V5])).events()
    assert found[0] == Remark(
        (1, "10.0.0.1:50000", "10.0.0.2:4711", True),  # type: ignore[arg-type]
        2000, 2, None, "WebSocket: GET /mqtt -> 101 Switching Protocols, sub-protocol mqtt",
    )  # fmt: skip
    assert seen(found) == [CONNECTS[V5], CONNACKS[V5]]


def test_an_upgrade_byte_by_byte_and_frames_in_the_same_segment() -> None:
    script = Script(flow()).send(CLIENT, *bites(request())).send(SERVER, *bites(answer())[:-1])
    script.send(CLIENT, mine(CONNECTS[V5])).send(SERVER, answer()[-1:] + frame(CONNACKS[V5]))
    found = packets_in(script.events())
    assert [(each.data, each.record) for each in found] == [
        (CONNECTS[V5], len(script.pieces) - 1), (CONNACKS[V5], len(script.pieces)),
    ]  # fmt: skip


def test_other_sub_protocols_are_reported_once_they_carry_mqtt() -> None:
    script = Script(flow()).send(CLIENT, request("")).send(SERVER, answer("")).send(CLIENT, mine(CONNECTS[V311]))
    first, second, _ = script.events()
    assert isinstance(first, Remark)
    assert first.message == "WebSocket: GET /mqtt -> 101 Switching Protocols, no sub-protocol"
    assert isinstance(second, PacketSeen)


def test_a_web_socket_that_carries_something_else_is_counted() -> None:
    for opcode in (BINARY, TEXT):
        script = Script(flow()).send(CLIENT, request("chat")).send(SERVER, answer("chat"))
        assert script.send(CLIENT, mine(b'{"a": 1}', opcode)).end().events() == []


def test_an_upgrade_that_was_refused() -> None:
    script = Script(flow()).send(CLIENT, request()).send(SERVER, answer(status="404 Not Found") + b"no").end()
    assert remarks(script.events()) == ["WebSocket: GET /mqtt -> 404 Not Found; the upgrade was refused"]


def test_an_upgrade_that_was_not_answered() -> None:
    script = Script(flow()).send(CLIENT, request()).end("FIN", CLIENT, SERVER)
    assert remarks(script.events()) == ["the upgrade to WebSocket was not answered"]


def test_an_upgrade_that_does_not_fit_the_budget() -> None:
    streams, found = MqttDemux(budget=MemoryBudget(1000)), list[Event]()
    asked = request()[:-2] + b"a: b\r\n" * 200 + b"\r\n"
    first, *rest = Script(flow()).send(CLIENT, asked).send(SERVER, answer()).pieces
    for piece in (first, first._replace(flow=first.flow._replace(number=2)), *rest):
        found += streams.feed(piece)
    assert remarks(found) == [
        "no room for the upgrade to WebSocket: all connections together hold more than 1,000 bytes of incomplete data"
    ]
    assert streams.skipped.connections == {"HTTP": 1}
    assert streams.skipped.bytes["HTTP"] == sum(len(each.data) for each in (first, *rest) if isinstance(each, Chunk))


def test_an_upgrade_with_missing_bytes() -> None:
    script = Script(flow()).send(CLIENT, request()).miss(SERVER, 100).send(SERVER, frame(CONNACKS[V5])).end()
    assert remarks(script.events()) == [
        "100 bytes are missing from the capture, within the upgrade to WebSocket; the connection is not read"
    ]


def test_headers_of_the_same_name_are_joined() -> None:
    found = head(b"HTTP/1.1 101 A B\r\nX: 1\r\nx : 2\r\nno colon\r\n\r\nbody")
    assert found == (["HTTP/1.1", "101", "A B"], {"x": "1, 2", "no colon": ""}, 43)
    assert head(b"HTTP/1.1 101\r\n") is None


# frames


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 100_000])
def test_lengths_of_7_16_and_64_bits(size: int) -> None:
    packet = publish(bytes(size))
    found = upgraded().send(CLIENT, mine(CONNECTS[V5]) + mine(packet)).events()
    assert seen(found) == [CONNECTS[V5], packet]


def test_packets_do_not_care_for_frames() -> None:
    stream = CONNECTS[V5] + publish() + PINGREQ
    script = upgraded().send(CLIENT, *(mine(part) for part in bites(stream)))
    assert seen(script.events()) == [CONNECTS[V5], publish(), PINGREQ]
    assert seen(upgraded().send(CLIENT, mine(stream)).events()) == [CONNECTS[V5], publish(), PINGREQ]


@given(st.binary(max_size=50), st.binary(min_size=4, max_size=4), st.integers(0, 9))
def test_masks_are_undone_from_anywhere(data: bytes, key: bytes, turn: int) -> None:
    assert unmasked(data, key, turn) == bytes(byte ^ key[(turn + at) % 4] for at, byte in enumerate(data))


def wrong(first: bytes, *more: bytes) -> Iterator[GapSeen]:
    """Yield the gap that frames of a client after its CONNECT lead to."""
    script = upgraded().send(CLIENT, mine(CONNECTS[V5])).send(CLIENT, first, *more).send(CLIENT, mine(PINGREQ))
    found = script.events()
    assert seen(found) == [CONNECTS[V5]]
    yield from gaps(found)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            mine(b"x", TEXT),
            "WebSocket text frame, but MQTT travels in binary frames only (MQTT5-6.0.0-1, MQTT311-6.0.0-1)",
        ),
        (mine(b"x", bits=0x40), "WebSocket frame with reserved bits set, 0xc2, which were not negotiated"),
        (mine(b"x", bits=0x10), "WebSocket frame with reserved bits set, 0x92, which were not negotiated"),
        (mine(b"x", 3), "WebSocket frame with reserved opcode 3"),
        (mine(b"x", 11), "WebSocket frame with reserved opcode 11"),
        (mine(bytes(126), PING), "WebSocket control frame that is fragmented, or longer than 125 bytes"),
        (mine(b"", PING, fin=False), "WebSocket control frame that is fragmented, or longer than 125 bytes"),
        (mine(b"x", 0), "WebSocket frame with opcode 0 after no message that it continues"),
        (mine(b"", fin=False) + mine(b"x"), "WebSocket frame with opcode 2 after a message that is not finished"),
        (b"\x82\xff\xff" + bytes(7) + MASK, "WebSocket frame with a length of 64 bits"),
    ],
)
def test_frames_that_break_the_protocol(data: bytes, message: str) -> None:
    (gap,) = wrong(data)
    assert (gap.message, gap.malformed, gap.length, gap.offset) == (message, True, None, len(CONNECTS[V5]))
    assert gap.data
    (again,) = wrong(*bites(data))
    assert again._replace(time=0, record=0) == gap._replace(time=0, record=0)


def test_a_fault_within_a_packet_takes_the_packet_with_it() -> None:
    (gap,) = wrong(mine(publish()[:5]) + mine(b"x", TEXT))
    assert (gap.offset, gap.data[:5]) == (17, publish()[:5])


def test_masks_on_the_wrong_side_are_remarked_once() -> None:
    script = upgraded().send(CLIENT, frame(CONNECTS[V5]) + frame(PINGREQ)).send(SERVER, mine(CONNACKS[V5]))
    found = script.events()
    assert seen(found) == [CONNECTS[V5], PINGREQ, CONNACKS[V5]]
    assert remarks(found)[1:] == [
        "client: WebSocket frames are not masked, but those of a client must be (RFC 6455, section 5.1)",
        "server: WebSocket frames are masked, but those of a server must not be (RFC 6455, section 5.1)",
    ]


def test_the_reason_of_a_close_is_a_remark() -> None:
    closing = (1002).to_bytes(2, "big") + "wrong \N{SNOWMAN}".encode()
    script = upgraded().send(CLIENT, mine(CONNECTS[V5])).send(SERVER, frame(closing, CLOSE) + b"\xff\xff more")
    assert remarks(script.events())[1:] == ["server: WebSocket closed with code 1002, wrong \N{SNOWMAN}"]
    quiet = upgraded().send(SERVER, frame((1000).to_bytes(2, "big"), CLOSE)).send(CLIENT, mine(b"", CLOSE))
    assert len(remarks(quiet.events())) == 1


def test_headers_without_an_end_are_not_an_upgrade() -> None:
    script = Script(flow()).send(CLIENT, request()[:-2]).send(CLIENT, *[b"X: y\r\n" * 1000] * 20)
    streams = MqttDemux()
    assert not [event for piece in script.pieces for event in streams.feed(piece)]
    assert streams.skipped.sentence == "1 connection is not MQTT: 1 HTTP"


def test_bytes_after_a_fault_or_a_close_are_ignored() -> None:
    script = upgraded().send(CLIENT, mine(CONNECTS[V5]) + mine(b"x", TEXT)).miss(CLIENT, 100).send(CLIENT, PINGREQ)
    assert len(gaps(script.events())) == 1
    script = upgraded().send(CLIENT, mine(CONNECTS[V5]) + mine(b"", CLOSE)).miss(CLIENT, 100).send(CLIENT, PINGREQ)
    assert gaps(script.events()) == []


@pytest.mark.parametrize("length", [300, 301, 302, 303])
def test_after_a_gap_the_mask_continues_at_the_right_byte(length: int) -> None:
    packet = publish(bytes(1000))
    data = mine(packet + PINGREQ)
    script = upgraded().send(CLIENT, mine(CONNECTS[V5])).send(CLIENT, data[:100]).miss(CLIENT, length)
    assert seen(script.send(CLIENT, data[100 + length :]).events()) == [CONNECTS[V5], PINGREQ]


def test_a_gap_up_to_the_end_of_a_payload() -> None:
    packet = publish(bytes(1000))
    data = mine(packet)
    script = upgraded().send(CLIENT, mine(CONNECTS[V5]) + data[:100]).miss(CLIENT, len(data) - 100)
    found = script.send(CLIENT, mine(PINGREQ)).events()
    assert [each.length for each in gaps(found)] == [len(packet)]
    assert seen(found) == [CONNECTS[V5], PINGREQ]


def test_a_gap_in_tls_below_ends_the_direction() -> None:
    hello = bytes.fromhex("1603010005") + bytes(5)
    script, streams = Script(flow()).send(CLIENT, hello), MqttDemux()
    streams.expect_keys()
    assert not [event for piece in script.pieces for event in streams.feed(piece)]
    client, server = script.flow.ends
    said = [(client, request()), (server, answer()), (client, mine(CONNECTS[V5])), (client, mine(publish())[:9])]
    for number, (end, data) in enumerate(said, 5):
        list(streams.decrypted(end, server if end == client else client, number, number, data))
    script.pieces.clear()
    (gap,) = gaps(event for piece in script.miss(CLIENT, 9).pieces for event in streams.feed(piece))
    assert (gap.offset, gap.data, gap.malformed) == (17, publish()[:3], False)
    assert gap.message == "9 bytes are missing from the capture, and TLS cannot be read without them"


# compression


def test_compressed_messages_build_upon_one_another() -> None:
    deflater = Deflater(takeover=True)
    packets = [CONNECTS[V5], *[publish(b"the same again and again" * 9)] * 5]
    script = upgraded(f"something-else; x=1, {DEFLATE}; client_max_window_bits=15")
    messages = [deflater.message(packet) for packet in packets]
    assert len(messages[2]) < len(messages[1])
    found = script.send(CLIENT, *(mine(message, bits=0x40) for message in messages)).events()
    assert seen(found) == packets
    assert remarks(found)[0].endswith(
        "sub-protocol mqtt, with something-else; x=1, permessage-deflate; client_max_window_bits=15"
    )


def test_each_message_stands_alone_when_that_was_agreed_on() -> None:
    deflater = Deflater(takeover=False)
    script = upgraded(f"{DEFLATE};client_no_context_takeover")
    packets = [CONNECTS[V5], publish(), publish()]
    assert seen(script.send(CLIENT, *(mine(deflater.message(one), bits=0x40) for one in packets)).events()) == packets


@pytest.mark.parametrize("alone", [CLIENT, SERVER])
def test_one_end_may_keep_its_context_and_the_other_not(alone: Direction) -> None:
    script = upgraded(f"{DEFLATE}; {alone.value}_no_context_takeover").send(CLIENT, mine(CONNECTS[V5]))
    packets = [publish(b"again and again and again")] * 3
    for end, build in ((CLIENT, mine), (SERVER, frame)):
        deflater = Deflater(takeover=end is not alone)
        script.send(end, *(build(deflater.message(packet), bits=0x40) for packet in packets))
    found = script.events()
    assert (seen(found, CLIENT)[1:], seen(found, SERVER)) == (packets, packets)


def test_a_block_that_says_it_is_the_last_is_not() -> None:
    compress = zlib.compressobj(9, zlib.DEFLATED, -15)
    final = compress.compress(PINGREQ) + compress.flush() + b"\0"
    script = upgraded(f"{DEFLATE};client_no_context_takeover").send(CLIENT, mine(CONNECTS[V5]))
    assert seen(script.send(CLIENT, *[mine(final, bits=0x40)] * 2).events())[1:] == [PINGREQ] * 2


def test_messages_that_cannot_be_inflated() -> None:
    script = upgraded(DEFLATE).send(CLIENT, mine(CONNECTS[V5]), mine(b"\xff\xff\xff", bits=0x40))
    (gap,) = gaps(script.events())
    assert gap.message.startswith("WebSocket message that cannot be inflated: ")


def test_a_bomb_is_refused_in_words() -> None:
    inflater = Inflater(True)
    bomb = Deflater(True).message(bytes(40 << 20))
    sizes: list[int] = []
    with pytest.raises(
        WebSocketError, match=r"WebSocket message of .* bytes that inflates to more than 200 times that"
    ):
        sizes.extend(
            map(len, (piece for at in range(0, len(bomb), 1000) for piece in inflater.feed(bomb[at : at + 1000])))
        )
    assert sum(sizes) <= 16 << 20
    assert max(sizes) <= PIECE


def test_megabytes_of_zeros_are_inflated() -> None:
    packet = publish(bytes(1 << 20))
    deflater = Deflater(True)
    script = upgraded(DEFLATE).send(CLIENT, mine(CONNECTS[V5]))
    for _ in range(20):
        script.send(CLIENT, mine(deflater.message(packet), bits=0x40))
    assert seen(script.events())[1:] == [packet] * 20


# gaps


def test_a_gap_within_a_payload_is_a_gap_in_mqtt() -> None:
    packet = publish(bytes(1000))
    data = mine(packet)
    script = upgraded().send(CLIENT, mine(CONNECTS[V5])).send(CLIENT, data[:100]).miss(CLIENT, 301)
    found = script.send(CLIENT, data[401:] + mine(publish(os.urandom(3)))).events()
    (gap,) = gaps(found)
    assert (gap.offset, gap.length) == (17, len(packet))
    assert len(seen(found)) == 2


def test_a_gap_in_a_header_ends_the_direction() -> None:
    script = upgraded().send(CLIENT, mine(CONNECTS[V5])).miss(CLIENT, 10).send(CLIENT, mine(PINGREQ))
    (gap,) = gaps(script.events())
    assert (gap.malformed, gap.length, gap.offset) == (False, None, 17)
    assert gap.message == (
        "10 bytes are missing from the capture, a header of a WebSocket frame with them; nothing after that can be read"
    )


def test_a_gap_in_a_compressed_message_ends_the_direction() -> None:
    message = mine(Deflater(True).message(publish(os.urandom(500))), bits=0x40)
    script = upgraded(DEFLATE).send(CLIENT, mine(CONNECTS[V5]), message[:100]).miss(CLIENT, 100)
    (gap,) = gaps(script.send(CLIENT, message[200:]).events())
    assert "from a compressed WebSocket message" in gap.message


def test_a_gap_in_a_control_frame_is_not_a_gap_in_mqtt() -> None:
    ping = mine(bytes(50), PING)
    script = upgraded().send(CLIENT, mine(CONNECTS[V5]) + ping[:20]).miss(CLIENT, 10)
    found = script.send(CLIENT, ping[30:] + mine(PINGREQ)).events()
    assert (gaps(found), seen(found)) == ([], [CONNECTS[V5], PINGREQ])


@given(st.lists(st.binary(max_size=200), max_size=10), st.booleans(), st.booleans())
def test_any_bytes_end_in_payload_or_a_fault(chunks: list[bytes], masked: bool, compressed: bool) -> None:
    frames = WebSocketFrames(masked, Inflater(True) if compressed else None)
    with suppress(WebSocketError):
        for data in chunks:
            assert sum(map(len, frames.feed(data))) < 1 << 20
