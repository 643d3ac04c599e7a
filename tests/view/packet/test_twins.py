"""Twins are drawn together as each of them by its tree."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from mqttpub.codec.encode import encode
from mqttpub.lint.packet.judge import PacketJudge
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Puback, Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.view.packet import twins as module
from mqttpub.view.packet.twins import TwinDumps
from tests.view.packet.test_plan import BULK, CONTENTS, IN_BULK, TIME, USUAL, Settings, by_tree, dumps, messages

CLIENT, V5 = Direction.CLIENT, Version.V5


def twins(settings: Settings = USUAL) -> TwinDumps:
    """Return what draws twins, and remembers nothing yet."""
    return TwinDumps(dumps(settings), PacketJudge().alone)


def wire(packet: Any, ids: list[int], contents: list[bytes]) -> list[bytes]:
    """Return packets with these Packet Identifiers and payloads, if they have any."""
    made = []
    for id, content in zip(ids, contents, strict=True):
        has_id = not isinstance(packet, Publish) or packet.qos
        own = {"packet_id": id} if has_id else {}
        made.append(encode(packet.replace(**own, **({"payload": content} if isinstance(packet, Publish) else {})), V5))
    return made


def check(drawn: TwinDumps, packets: list[bytes], settings: Settings) -> bool:
    """Packets are drawn as by their trees, or not together; return whether they are."""
    found = drawn.together(b"".join(packets), len(packets[0]), V5, CLIENT)
    if found is None:
        return False
    assert not any(PacketJudge().alone(each, V5, CLIENT)[1] for each in packets)
    texts = [text.decode() for text in found.drawn([TIME.encode()] * len(packets))]
    assert texts == [f"\n{by_tree(each, V5, CLIENT, settings)}" for each in packets]
    return True


@pytest.mark.parametrize("given_settings", IN_BULK)
def test_packets_in_bulk(given_settings: Settings) -> None:
    random, drawn, together = Random(7), twins(given_settings), 0
    of_size: dict[int, list[bytes]] = {}
    for content in (*CONTENTS, *(b"%d" % number for number in range(90, 120)), b" \\ ", b"e\xcc\x81"):
        of_size.setdefault(len(content), []).append(content)
    for packet in BULK * 8:
        first, some = random.choice((0, 9, 10, 995, 65_500)), random.choice(list(of_size.values()))
        ids, contents = [first + number for number in range(8)], random.choices(some, k=8)
        together += check(drawn, wire(packet, ids, contents), given_settings)
    assert together > 20 or given_settings[3]


@settings(max_examples=150, deadline=None)
@given(messages())
def test_packets_of_the_same_fields(sent: list[Publish]) -> None:
    packets = [encode(each, V5) for each in sent]
    check(twins(), [each for each in packets if len(each) == len(packets[0])], USUAL)


def test_packets_that_differ_elsewhere_are_not_twins() -> None:
    packets = wire(Publish(topic="t", qos=1), list(range(10, 15)), [b"x"] * 5)
    assert check(twins(), packets, USUAL)
    for other in (Publish(topic="u", qos=1, packet_id=10, payload=b"x"), Publish(topic="t", qos=1, packet_id=9,
                  payload=b"x"), Publish(topic="t", qos=1, packet_id=100, payload=b"x")):  # fmt: skip
        assert not check(twins(), [*packets, encode(other, V5)], USUAL)
    assert not check(twins(), wire(Puback(packet_id=1), [5, 0, 6], [b""] * 3), USUAL)


@pytest.mark.parametrize(("property", "has_twins"), [(0x02, True), (0x01, False)])
def test_packets_whose_payload_has_to_be_text_have_no_twins(property: int, has_twins: bool) -> None:
    packet = Publish(topic="t", qos=1, properties=(Property(property, 1),))
    packets = wire(packet, list(range(10, 15)), [b"a", b"b", b"\xff", b"c", b"d"])
    assert check(twins(), packets, USUAL) is has_twins


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_TEXT", 20_000)
    drawn = twins()
    for number in range(60):
        assert check(drawn, wire(Publish(topic=f"t/{number}", qos=1), [10, 11], [b"xy", b"zz"]), USUAL)
        forms = drawn._forms.values()
        assert sum(len(each._format.text) for each in forms if each) < 20_000
