"""The TCP segment in an IP packet, whole or in fragments."""

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.network import ip
from mqttpub.capture.network.ip import IpPayload, IpReassembler, address
from mqttpub.capture.network.link import NotTcp
from mqttpub.capture.types import CaptureRecord
from mqttpub.common.times import SECOND_NS
from tests.build.frames import (
    AUTHENTICATION,
    BROKER,
    CLIENT,
    DESTINATION,
    FRAGMENT,
    HOP_BY_HOP,
    LINKS,
    ROUTER_ALERT,
    ROUTING,
    UDP,
    authentication,
    fragments4,
    fragments6,
    ipv4,
    ipv6,
    options6,
    records,
)

FOUR = (CLIENT[0], BROKER[0])
SIX = (CLIENT[1], BROKER[1])
BODY = bytes(range(100))


class Reader:
    """Reads IP packets one after the other."""

    def __init__(self, **limits: int) -> None:
        self.skipped: Counter[str] = Counter()
        self.internet = IpReassembler(self.skipped, **limits)

    def records(self, *given: CaptureRecord) -> list[bytes]:
        found = (self.internet.packet(record) for record in given)
        return [body(packet) for packet in found if packet]

    def packets(self, *given: bytes) -> list[bytes]:
        return self.records(*records(given, LINKS["raw IP"]))


def body(packet: IpPayload) -> bytes:
    return packet.data[packet.start : packet.end]


def one(data: bytes, *, link: str = "raw IP", cut: int = 0) -> IpPayload:
    """Return what is found in an IP packet, cut to so many bytes if it says so."""
    (record,) = records([data], LINKS[link])
    packet = IpReassembler(Counter()).packet(record._replace(data=record.data[:cut]) if cut else record)
    assert packet
    return packet


def reason(data: bytes) -> str:
    with pytest.raises(NotTcp) as caught:
        one(data)
    return caught.value.reason


# whole packets


def test_ipv4() -> None:
    packet = one(ipv4(FOUR, BODY), link="Ethernet")
    assert (packet.source, packet.target, body(packet), packet.plain) == (*FOUR, BODY, 14)


def test_ipv4_with_options() -> None:
    packet = one(ipv4(FOUR, BODY, options=ROUTER_ALERT * 10))
    assert (body(packet), packet.plain) == (BODY, None)


def test_padding_of_ethernet_is_left_out() -> None:
    packet = one(ipv4(FOUR, b"short"), link="Ethernet")
    assert len(packet.data) == 60
    assert body(packet) == b"short"


def test_a_total_length_of_0_means_all_that_was_sent() -> None:
    packet = one(ipv4(FOUR, BODY, total=0), cut=50)
    assert (body(packet), packet.end) == (BODY[:30], 120)


def test_a_packet_can_end_after_the_captured_bytes() -> None:
    packet = one(ipv4(FOUR, BODY), cut=50)
    assert (body(packet), packet.end) == (BODY[:30], 120)


def test_ipv6() -> None:
    packet = one(ipv6(SIX, BODY), link="VLAN")
    assert (packet.source, packet.target, body(packet), packet.plain) == (*SIX, BODY, 18)


def test_an_ipv6_payload_length_of_0_means_all_that_was_sent() -> None:
    packet = one(ipv6(SIX, BODY, length=0), cut=50)
    assert (body(packet), packet.end) == (BODY[:10], 140)


@pytest.mark.parametrize(
    "extensions",
    [
        [(HOP_BY_HOP, options6())],
        [(ROUTING, options6(24))],
        [(DESTINATION, options6(16))],
        [(AUTHENTICATION, authentication())],
        [(FRAGMENT, bytes(7))],
        [
            (HOP_BY_HOP, options6()),
            (DESTINATION, options6()),
            (ROUTING, options6(40)),
            (FRAGMENT, bytes(7)),
            (AUTHENTICATION, authentication(16)),
            (DESTINATION, options6(256)),
        ],
    ],
    ids=["hop-by-hop", "routing", "destination", "AH", "atomic fragment", "all"],
)
def test_ipv6_with_extension_headers(extensions: list[tuple[int, bytes]]) -> None:
    packet = one(ipv6(SIX, BODY, extensions=extensions))
    assert (body(packet), packet.plain) == (BODY, None)


def test_an_authentication_header_in_ipv4() -> None:
    assert body(one(ipv4(FOUR, bytes([6]) + authentication() + BODY, protocol=AUTHENTICATION))) == BODY


# what is no TCP


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ipv4(FOUR, BODY, protocol=UDP), "not TCP"),
        (ipv6(SIX, BODY, protocol=58), "not TCP"),
        (ipv6(SIX, BODY, protocol=UDP, extensions=[(HOP_BY_HOP, options6())]), "not TCP"),
        (ipv6(SIX, BODY, protocol=59), "not TCP"),
        (ipv6(SIX, BODY, protocol=50), "not TCP"),
        (b"\x50" + bytes(60), "not IP"),
        (b"", "cut short before the TCP header"),
        (ipv4(FOUR, BODY)[:9], "cut short before the TCP header"),
        (ipv6(SIX, BODY)[:6], "cut short before the TCP header"),
        (ipv6(SIX, b"", protocol=HOP_BY_HOP), "cut short before the TCP header"),
        (b"\x44" + ipv4(FOUR, BODY)[1:], "IP packets with a broken header"),
        (ipv4(FOUR, BODY, total=19), "IP packets with a broken header"),
        (ipv6(SIX, BODY, extensions=[(HOP_BY_HOP, b"\xff" + bytes(6))]), "IP packets with a broken header"),
    ],
)
def test_a_skipped_record_has_a_reason(data: bytes, expected: str) -> None:
    assert reason(data) == expected


# fragments


def split(version: int, data: bytes, places: list[int], id: int = 7) -> list[bytes]:
    return fragments4(FOUR, data, places, id) if version == 4 else fragments6(SIX, data, places, id)


each_version = pytest.mark.parametrize("version", [4, 6])


@each_version
def test_fragments_in_any_order(version: int) -> None:
    for order in permutations(split(version, BODY, [24, 48, 72])):
        assert Reader().packets(*order) == [BODY]


@each_version
def test_fragments_of_several_packets_at_once(version: int) -> None:
    reader = Reader()
    several = [split(version, bytes([id]) * 100, [48], id) for id in range(20)]
    assert reader.packets(*[parts[0] for parts in several]) == []
    assert reader.packets(*[parts[1] for parts in several]) == [bytes([id]) * 100 for id in range(20)]


@each_version
def test_of_bytes_that_come_twice_the_first_count(version: int) -> None:
    other = split(version, b"?" * 100, [16, 64])
    parts = split(version, BODY, [48])
    assert Reader().packets(other[0], parts[1], parts[0]) == [b"?" * 16 + BODY[16:]]


@each_version
def test_second_copies_of_fragments_begin_nothing(version: int) -> None:
    reader = Reader()
    parts = split(version, BODY, [48])
    assert reader.packets(parts[0], parts[0], parts[1], parts[1], parts[0]) == [BODY]
    reader.internet.finish()
    assert reader.skipped == {}


def test_options_and_extension_headers_before_fragments() -> None:
    four = [
        ipv4(FOUR, part, options=ROUTER_ALERT, first=at, more=at == 0) for at, part in ((0, BODY[:48]), (48, BODY[48:]))
    ]
    assert Reader().packets(*four) == [BODY]
    whole = bytes([6]) + options6() + BODY
    six = [
        ipv6(
            SIX,
            part,
            protocol=DESTINATION,
            extensions=[(HOP_BY_HOP, options6()), (FRAGMENT, bytes([0, 0, at | (at == 0)]) + bytes(4))],
        )
        for at, part in ((0, whole[:48]), (48, whole[48:]))
    ]
    assert Reader().packets(*six) == [BODY]


def test_the_first_fragment_tells_the_protocol() -> None:
    first, _ = split(6, BODY, [48])
    _, second = fragments6(SIX, BODY, [48], 7, protocol=UDP)
    assert Reader().packets(first, second) == [BODY]
    assert Reader().packets(second, first) == [BODY]


def test_other_addresses_protocols_and_numbers_are_other_packets() -> None:
    first, second = split(4, BODY, [48])
    reader = Reader()
    assert reader.packets(first, ipv4(FOUR, BODY[48:], id=8, first=48)) == []
    assert reader.packets(ipv4(FOUR, BODY[48:], id=7, first=48, protocol=UDP)) == []
    assert reader.packets(ipv4(FOUR[::-1], BODY[48:], id=7, first=48)) == []
    assert reader.packets(second) == [BODY]


def test_fragments_of_udp_are_not_tcp() -> None:
    first, second = (
        ipv4(FOUR, part, id=1, first=at, more=not at, protocol=UDP) for at, part in ((0, BODY[:8]), (8, BODY))
    )
    reader = Reader()
    assert reader.packets(first) == []
    with pytest.raises(NotTcp, match="not TCP"):
        reader.packets(second)


def test_a_fragment_that_was_cut_off_ends_the_known_bytes() -> None:
    given = records(split(4, BODY, [48]), LINKS["raw IP"])
    internet = IpReassembler(Counter())
    assert internet.packet(given[0]._replace(data=given[0].data[:40])) is None
    packet = internet.packet(given[1])
    assert packet
    assert (packet.data, packet.end) == (BODY[:20], 100)


def test_fragments_wait_30_seconds() -> None:
    first, second, *_ = records(split(4, BODY, [48]), LINKS["raw IP"])
    assert first.time_ns is not None
    for late, expected in ((30, [BODY]), (31, [])):
        reader = Reader()
        assert reader.records(first, second._replace(time_ns=first.time_ns + late * SECOND_NS)) == expected
        reader.internet.finish()
        assert reader.skipped == ({} if expected else {"fragments of IP packets whose rest is missing": 2})


def test_fragments_without_time_wait_until_there_are_too_many() -> None:
    reader = Reader(max_fragments=100 * 400)
    several = [split(4, bytes([id]) * 100, [48], id) for id in range(200)]
    given = records([parts[0] for parts in several], LINKS["raw IP"])
    assert reader.records(*[record._replace(time_ns=None) for record in given]) == []
    assert reader.skipped["fragments of IP packets whose rest is missing"] > 50
    assert reader.packets(several[0][1]) == []
    assert reader.packets(several[-1][1]) == [bytes([199]) * 100]


@pytest.mark.parametrize(
    "parts",
    [
        [ipv4(FOUR, BODY[:50], more=True)],
        [ipv4(FOUR, b"", more=True)],
        [ipv4(FOUR, bytes(8), first=65_528)],
        [ipv4(FOUR, bytes(40), first=40), ipv4(FOUR, bytes(40), first=80, more=True)],
        [ipv4(FOUR, bytes(40), first=80, more=True), ipv4(FOUR, bytes(40), first=40)],
        fragments6(SIX, bytes([6, 0, 0, 1, 0, 0, 0, 3]) + BODY[:96], [48], 2, protocol=FRAGMENT),
    ],
    ids=["no multiple of 8", "empty", "beyond the end", "behind the last", "last too early", "fragment in fragments"],
)
def test_fragments_that_cannot_be(parts: list[bytes]) -> None:
    reader = Reader()
    assert reader.packets(*parts[:-1]) == []
    with pytest.raises(NotTcp, match="broken"):
        reader.packets(parts[-1])


@given(
    st.data(), st.sampled_from([4, 6]), st.binary(min_size=1, max_size=600), st.lists(st.integers(0, 600), max_size=8)
)
def test_any_fragments_make_the_packet(data: st.DataObject, version: int, whole: bytes, places: list[int]) -> None:
    once = split(version, whole, places)
    again = split(version, whole, data.draw(st.lists(st.integers(0, 600), max_size=3)))
    if len(once) < 2:
        return
    order = data.draw(st.permutations([*once, *(part for part in again if len(again) > 1)]))
    reader = Reader()
    assert reader.packets(*order) == [whole]


# addresses


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (b"\x0a\0\0\xff", "10.0.0.255:1883"),
        (bytes.fromhex("fe80000000000000000000000000000f"), "[fe80::f]:1883"),
        (bytes(15) + b"\1", "[::1]:1883"),
    ],
)
def test_addresses_as_text(packed: bytes, text: str) -> None:
    assert address(packed, 1883) == text


def test_the_memory_of_fragments_comes_back() -> None:
    reader = Reader()
    for id in range(500):
        reader.packets(*split(4, BODY, [48], id))
    assert reader.internet.held_bytes == 0


def test_a_number_of_complete_datagrams_is_remembered() -> None:
    reader = Reader()
    for id in range(ip.REMEMBERED + 1):
        reader.packets(*split(4, BODY, [48], id))
    reader.packets(split(4, BODY, [48], 1)[0])
    assert reader.internet.held_bytes == 0
    reader.packets(split(4, BODY, [48], 0)[0])
    assert reader.internet.held_bytes > 0
