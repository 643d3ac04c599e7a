"""What rules do to the packets of a connection."""

from collections.abc import Callable

import pytest

from mqttpub.codec.decode import decode
from mqttpub.lab.faults.faults import FaultReport
from mqttpub.lab.faults.lane import MOST_HELD_BYTES, REORDER_S
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints
from tests.lab.faults.wire import CLIENT, SERVER, Wire, packet


def opened(*rules: str, **given: int) -> Wire:
    wire = Wire(*rules, **given)  # type: ignore[arg-type]
    wire.open()
    return wire


def test_without_a_rule_that_fits_every_byte_passes_as_it_came() -> None:
    wire = opened("type=PUBREC drop", "topic=other twice", "client=someone-else close")
    sent = packet("publish q1 i=1 t=a p=hi") + packet("pingreq")
    for at in range(len(sent)):
        wire.link.received(CLIENT, sent[at : at + 1])
    assert wire.ends[CLIENT].data == sent
    assert wire.reports == []


@pytest.mark.parametrize(("pattern", "others"), [
    ("type=PUBLISH", 1), ("direction=client", 1), ("topic=a/#", 0), ("id=7", 0), ("qos=1", 0), ("client=c", 2),
    ("connection=1", 2), ("connection=2", None), ("version=5", 2), ("payload=h*i", 0), ("alias=3", 0), ("retain", 0),
    ("type=PUBACK,PUBLISH !dup", 1), ("version=3.1.1", None), ("!qos=1", None),
])  # fmt: skip
def test_a_pattern_is_that_of_filter(pattern: str, others: int | None) -> None:
    wire = opened(f"{pattern} delay 1s")
    before = len(wire.words)
    wire.client("publish q1 r1 i=7 t=a/b topic_alias=3 p=hi")
    assert ("delayed PUBLISH i=7 t=a/b by 1000 ms" in wire.words) is (others is not None)
    if others is not None:
        wire.server("publish t=b")
        wire.client("pingreq")
        assert len(wire.words) - before - 1 == others


def test_a_topic_is_known_by_its_alias() -> None:
    wire = opened("topic=a drop")
    wire.client("publish t=b topic_alias=1")
    wire.client("publish t=a topic_alias=2")
    passed = wire.client("publish t= topic_alias=1")
    wire.client("publish t= topic_alias=2")
    assert wire.to_server[1:] == [passed]
    assert wire.words == ["dropped PUBLISH t=a"] * 2


def test_a_client_identifier_that_the_server_assigned_counts() -> None:
    wire = Wire("client=x7 type=PUBLISH drop")
    wire.client("connect id=")
    wire.server("connack assigned_client_identifier=x7")
    wire.client("publish")
    assert wire.words == ["dropped PUBLISH t=a"]


def test_twice() -> None:
    wire = opened("type=PUBREL twice")
    data = wire.client("pubrel i=1")
    assert wire.to_server == [data, data]
    assert wire.words == ["sent PUBREL i=1 twice"]


def test_cut_leaves_out_the_last_bytes() -> None:
    wire = opened("type=PUBACK cut 2", "type=PINGRESP cut 9")
    data = wire.server("puback i=1")
    wire.server("pingresp")
    assert wire.ends[SERVER].data == data[:-2]
    assert wire.words == ["cut 2 bytes off PUBACK i=1", "cut 2 bytes off PINGRESP"]


def test_slice_writes_in_pieces() -> None:
    wire = opened("type=PUBLISH slice 4")
    data = wire.client("publish t=a p=hello")
    assert wire.to_server == [data[:4], data[4:8], data[8:]]
    assert wire.words == ["sent PUBLISH t=a in 3 pieces"]


@pytest.mark.parametrize(("change", "before", "after"), [
    ("reason_code=0x97", "puback i=1", "puback i=1 c=97"),
    ("c=97 reason_string=full", "puback i=1 user_property=a:b", "puback i=1 c=97 user_property=a:b reason_string=full"),
    ("reason_string=full", "pubrec i=1", "pubrec i=1 c=00 reason_string=full"),
    ("receive_maximum=1 sp=1", "connack receive_maximum=9", "connack sp=1 receive_maximum=1"),
    ("t=long/topic d1", "publish q1 i=7 t=a p=x", "publish q1 d1 i=7 t=long/topic p=x"),
    ("q0", "publish q1 i=7 t=a p=x", "publish q0 t=a p=x"),
    ("q1 i=9", "publish q0 t=a p=x", "publish q1 i=9 t=a p=x"),
    ("password=new", "connect id=c username=u", "connect id=c username=u password=new"),
    ("will.topic=gone", "connect id=c will=q1", "connect id=c will=q1 will.topic=gone"),
    ("c=80,80", "suback i=1 c=01", "suback i=1 c=80,80"),
])  # fmt: skip
def test_set_encodes_the_packet_anew(change: str, before: str, after: str) -> None:
    wire = Wire(f"set {change}")
    wire.link.received(CLIENT, packet(before))
    assert wire.to_server == [packet(after)]
    assert wire.words[0].startswith(f"set {change} in ")
    assert not decode(packet(after), Version.V5).findings


def test_a_value_that_a_packet_has_already_is_not_set() -> None:
    wire = opened("set i=1")
    assert wire.to_client == [wire.server("puback i=1")]
    assert wire.words == []


def test_rules_set_one_after_another() -> None:
    wire = opened("type=PUBACK set c=97", "type=PUBACK set reason_string=no")
    wire.server("puback i=1")
    assert wire.to_client == [packet("puback i=1 c=97 reason_string=no")]


def test_what_a_version_lacks_is_left_and_said_once() -> None:
    wire = Wire("set reason_code=0x97", "set topic=b", version=Version.V311)
    wire.open()
    acks = [wire.server("puback i=1"), wire.server("puback i=2")]
    assert wire.to_client == acks
    assert wire.words[-1:] == ["left PUBACK i=1 as it is: Puback Reason Code needs MQTT 5.0"]


def test_a_delay_keeps_the_order_of_its_direction() -> None:
    wire = opened("type=PUBACK delay 200ms")
    first, second = wire.server("puback i=1"), wire.server("pingresp")
    passed = wire.client("pingreq")
    assert wire.to_server == [passed]
    wire.loop.pass_s(0.199)
    assert wire.to_client == []
    assert not wire.link.passes(SERVER)
    wire.loop.pass_s(0.002)
    assert wire.to_client == [first, second]
    assert wire.link.passes(SERVER)
    assert wire.words == ["delayed PUBACK i=1 by 200 ms"]


def test_jitter_is_within_its_bounds_and_keeps_the_order() -> None:
    wire = opened("type=PUBLISH delay 200ms jitter 50ms")
    sent = [wire.client(f"publish t=t{number}") for number in range(50)]
    wire.loop.pass_s(0.149)
    assert wire.to_server == []
    wire.loop.pass_s(0.102)
    assert wire.to_server == sent
    delays = [int(words.split()[-2]) for words in wire.words]
    assert 150 <= min(delays) < 165
    assert 235 < max(delays) <= 250


def test_reorder_lets_later_packets_go_first() -> None:
    wire = opened("type=PUBLISH reorder 2")
    sent = [wire.client(f"publish t=t{number}") for number in range(6)]
    assert wire.to_server == [sent[each] for each in (1, 2, 0, 4, 5, 3)]
    assert wire.words == ["sent PUBLISH t=t0 after 2 later packets", "sent PUBLISH t=t3 after 2 later packets"]


def test_reorder_ends_without_later_packets() -> None:
    wire = opened("type=PUBACK reorder 3")
    held, later = wire.server("puback i=1"), wire.server("pingresp")
    assert wire.to_client == [later]
    wire.loop.pass_s(REORDER_S)
    assert wire.to_client == [later, held]
    held = wire.server("puback i=2")
    wire.link.ended(SERVER)
    assert wire.to_client[2:] == [held, "FIN"]
    assert wire.words == [
        "sent PUBACK i=1 after 1 later packet, as no more came within 1 s",
        "sent PUBACK i=2 after 0 later packets, as the connection ends",
    ]


def test_the_next_packet_waits_its_own_time_for_later_ones() -> None:
    wire = opened("type=PUBACK reorder 1")
    first, second = wire.server("puback i=1"), wire.server("pingresp")
    wire.loop.pass_s(REORDER_S / 2)
    third = wire.server("puback i=2")
    wire.loop.pass_s(REORDER_S / 2)
    assert wire.to_client == [second, first]
    wire.loop.pass_s(REORDER_S / 2)
    assert wire.to_client == [second, first, third]


def test_an_end_follows_what_is_held() -> None:
    wire = opened("type=PUBLISH delay 1s")
    data, rest = wire.client("publish"), packet("publish t=unfinished")[:-3]
    wire.link.received(CLIENT, rest)
    wire.link.ended(CLIENT)
    assert wire.to_server == []
    wire.loop.pass_s(1)
    assert wire.to_server == [data, rest, "FIN"]
    assert wire.to_client == []


def test_close_comes_in_its_turn_and_ends_both_sides() -> None:
    wire = opened("type=PUBLISH delay 1s", "type=PUBACK close")
    wire.client("publish q1 i=1")
    wire.server("publish t=s")
    wire.server("puback i=1")
    wire.server("pingresp")
    wire.loop.pass_s(1)
    assert wire.to_client == [packet("publish t=s"), "FIN"]
    assert wire.to_server[-1] == "FIN"
    assert "closed the connection instead of sending PUBACK i=1" in wire.words
    wire.client("pingreq")
    assert wire.to_server[-1] == "FIN"


def test_a_close_waits_for_what_is_held_though_the_other_end_has_ended() -> None:
    wire = opened("type=PUBLISH delay 1s", "type=PINGREQ close")
    held = wire.client("publish")
    wire.client("pingreq")
    wire.link.ended(SERVER)
    assert (wire.to_client, wire.to_server) == (["FIN"], [])
    wire.loop.pass_s(1)
    assert (wire.to_client, wire.to_server) == (["FIN"], [held, "FIN"])


def test_reset_is_at_once_and_forgets_what_is_held() -> None:
    wire = opened("type=PUBLISH delay 1s", "type=PUBACK reset")
    wire.client("publish q1 i=1")
    wire.server("puback i=1")
    wire.loop.pass_s(5)
    assert (wire.to_client, wire.to_server) == (["RST"], ["RST"])
    assert wire.loop.timers.next() is None


def test_silence_is_for_one_direction_and_lasts() -> None:
    wire = opened("type=PUBACK silence")
    wire.server("puback i=1")
    wire.server("pingresp")
    passed = wire.client("pingreq")
    assert (wire.to_client, wire.to_server) == ([], [passed])
    assert wire.words == ["silent from PUBACK i=1 on"]
    wire.link.ended(SERVER)
    assert wire.to_client == ["FIN"]


def test_nothing_acts_on_a_packet_after_it_is_dropped_but_all_do_before() -> None:
    wire = opened("type=PUBACK set c=97", "type=PUBACK slice 3", "type=PUBACK twice", "id=2 drop", "id=2 close")
    wire.server("puback i=1")
    wire.server("puback i=2")
    changed = packet("puback i=1 c=97")
    assert wire.to_client == [changed[:3], changed[3:]] * 2
    assert wire.words[-1] == "dropped PUBACK i=2"


def struck(seed: int, *, between: Callable[[Wire], None] = lambda wire: None) -> list[str]:
    wire = Wire("type=PUBACK drop 30%", "type=PUBACK delay 10ms jitter 10ms 50%", seed=seed)
    wire.open()
    for number in range(1, 200):
        wire.server(f"puback i={number}")
        between(wire)
    return [report.words for report in wire.reports if report.direction is SERVER]


def test_a_seed_repeats_chance_whatever_else_happens() -> None:
    assert struck(1) == struck(1)
    assert struck(1) != struck(2)
    assert struck(1) == struck(1, between=lambda wire: wire.link.received(CLIENT, packet("puback i=9")))

    def others(wire: Wire) -> None:
        link, _ = wire.connect()
        link.received(CLIENT, packet("connect") + packet("puback i=1"))

    assert struck(1) == struck(1, between=others)
    dropped = sum(words.startswith("dropped") for words in struck(1))
    assert 40 <= dropped <= 80  # 60 of 200 are expected; six in a thousand seeds are outside


def test_each_connection_and_each_direction_has_its_own_chance() -> None:
    wire = opened("type=PUBACK drop 50%")
    link, ends = wire.connect()
    for number in range(1, 100):
        for direction in Direction:
            wire.link.received(direction, packet(f"puback i={number}"))
            link.received(direction, packet(f"puback i={number}"))
    passed = [end.data for each in (wire.ends, ends) for end in each.values()]
    assert len(set(passed)) == 4


def test_a_seed_is_chosen_where_none_is_given() -> None:
    wire = Wire("drop 10%")
    assert wire.faults.seed == 7
    chosen = {type(wire.faults)(wire.faults.rules, None, wire.reports.append).seed for _ in range(3)}
    assert len(chosen) == 3
    assert wire.faults.is_random
    assert not Wire("drop", "delay 1s").faults.is_random


def test_bytes_that_are_no_packets_pass_on() -> None:
    wire = opened("type=PUBLISH delay 1s")
    data = wire.client("publish")
    for part in (b"\x30\xff\xff\xff\xff\x7f...", b"more"):
        wire.link.received(CLIENT, part)
    wire.loop.pass_s(1)
    assert wire.ends[CLIENT].data == data + b"\x30\xff\xff\xff\xff\x7f...more"
    assert wire.words[-1].startswith("passes bytes on unchanged from here: Remaining Length")
    wire.link.ended(CLIENT)
    assert wire.ends[CLIENT].data == data + b"\x30\xff\xff\xff\xff\x7f...more"
    reserved = b"\x00\x00"
    wire.link.received(SERVER, reserved)
    assert wire.ends[SERVER].data == reserved


def test_a_full_hold_says_so_until_it_is_written() -> None:
    wire = opened("type=PUBLISH delay 1s")
    big = b"\x30" + b"\x81\x80\x40" + b"\x00\x01a\x00" + bytes(0x100001 - 4)
    assert len(big) > MOST_HELD_BYTES
    wire.link.received(CLIENT, big)
    assert wire.link.full(CLIENT)
    assert not wire.link.full(SERVER)
    full: list[bool] = []
    wire.ends[CLIENT].write = lambda data: full.append(wire.link.full(CLIENT))  # type: ignore[method-assign]
    wire.loop.pass_s(1)
    assert full == [False]


def test_a_hold_that_ends_without_a_byte_says_so_too() -> None:
    wire = opened("type=PUBLISH delay 1s", "type=PUBLISH cut 268435455")
    wire.client("publish")
    wire.loop.pass_s(1)
    assert wire.to_server == [b""]


def test_a_closed_link_keeps_nothing() -> None:
    wire = opened("type=PUBLISH delay 1s", "type=PUBACK reorder 1")
    wire.client("publish")
    wire.client("puback i=1")
    wire.link.close()
    assert wire.loop.timers.next() is None
    assert wire.link.passes(CLIENT)
    assert wire.faults.clients.name(Endpoints(1, "", "", True)) == ""
    wire.client("pingreq")
    wire.link.ended(CLIENT)
    assert wire.to_server == []


def test_a_report_is_a_line_and_a_record() -> None:
    report = FaultReport("a", Direction.SERVER, 0.1234567, "drop 10%", "PUBLISH", "dropped PUBLISH t=\x1b[2J")
    assert report.line == "[a] 0.123 s  dropped PUBLISH t=\\x1b[2J  (rule: drop 10%)"
    assert report.record == {
        "event": "fault", "connection": "a", "direction": "server", "time_s": 0.123457, "packet": "PUBLISH",
        "rule": "drop 10%", "text": "dropped PUBLISH t=\\x1b[2J",
    }  # fmt: skip
