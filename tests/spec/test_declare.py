"""The words in which packets are declared, tried on a small packet of our own."""

from collections.abc import Iterator
from typing import Any

import pytest

from mqttpub.spec import declare as fields
from mqttpub.spec.constraints import NonZero, NotEmpty, StatementRef
from mqttpub.spec.declare import (
    MISSING,
    Field,
    Group,
    Packet,
    Properties,
    Property,
    bits,
    control_packet,
    declare,
    group,
    properties,
    repeat,
    wire,
)
from mqttpub.spec.packets import PACKETS
from mqttpub.spec.reason_codes import Codes
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.types import BYTE, STRING, U16

V31, V311, V5 = Version
NOT_ZERO = NonZero(StatementRef("3.3.2-8"))
FILLED = NotEmpty(StatementRef("3.8.3-2"))


@declare
class Leg(Group):
    """Part of a journey."""

    name: str = wire(STRING, label="Leg Name", name_before_5="Old Name", limits=(FILLED,))
    speed: int = bits(0x0F, octet="gear", default=1, names={1: "slow"})
    uphill: bool = bits(0x80, octet="gear", default=False)


@pytest.fixture
def journey() -> Iterator[type[Packet]]:
    """Declare a packet of type 0, and forget it afterwards."""

    @control_packet(0, section="9.9", sender="cs", sender_before_5="c", since=V311)
    class Journey(Packet):
        """Goes somewhere."""

        fast: bool = bits(0b1000, default=False, until=V311)
        mode: int = bits(0b0110, default=2, doc="how")
        last: bool = bits(0b0001, default=False, since=V5)
        all_low: int = bits(0b1111, octet="second", default=0)
        first: Leg | None = group(Leg, when="mode", doc="where it begins")
        reason: int | None = wire(BYTE, default=None, names=Codes("PUBACK"), tail=(V5,), unit="s", kind="number")
        level: int | None = wire(U16, default=None, fixed={V311: 4, V5: 5}, limits=(NOT_ZERO,))
        extras: Properties = properties(default=())
        legs: tuple[Leg, ...] = repeat(Leg, default=(), limits=(FILLED,), each=(NOT_ZERO,), since=V5)

    yield Journey
    del PACKETS[0]


def test_a_declaration_registers_the_packet(journey: type[Packet]) -> None:
    assert PACKETS[0] is journey
    assert (journey.code, journey.name, journey.section, journey.since) == (0, "JOURNEY", "9.9", V311)
    assert journey.senders == set(Direction)
    assert journey.senders_before_5 == {Direction.CLIENT}


def test_who_may_send_depends_on_the_version(journey: Any) -> None:
    packet = journey()
    assert packet.may_send(Direction.SERVER, V5)
    assert not packet.may_send(Direction.SERVER, V311)
    assert packet.may_send(Direction.CLIENT, V311)


def test_without_sender_before_5_the_same_ends_send_in_all_versions() -> None:
    publish = PACKETS[3]
    assert publish.senders == publish.senders_before_5 == set(Direction)


def test_fields_are_in_the_order_of_the_declaration(journey: type[Packet]) -> None:
    assert list(journey.fields) == [
        "fast", "mode", "last", "all_low", "first", "reason", "level", "extras", "legs",
    ]  # fmt: skip
    assert journey.layout == tuple(journey.fields.values())
    assert [field.key for field in journey.layout] == list(journey.fields)


def test_the_plan_of_a_version_joins_bits_of_a_byte_and_has_only_its_fields(journey: type[Packet]) -> None:
    def plan(version: Version) -> list[str]:
        return [" ".join(field.key for field in step) for step in journey.plan[version]]

    assert plan(V311) == ["fast mode", "all_low", "first", "reason", "level"]
    assert plan(V5) == ["mode last", "all_low", "first", "reason", "level", "extras", "legs"]
    assert [[field.key for field in step] for step in Leg.plan[V31]] == [["name"], ["speed", "uphill"]]


def test_a_label_is_the_key_unless_it_is_given(journey: type[Packet]) -> None:
    assert journey.fields["all_low"].label == "All Low"
    assert Leg.fields["name"].label == "Leg Name"
    assert [Leg.fields["name"].label_in(version) for version in Version] == ["Old Name", "Old Name", "Leg Name"]
    assert [Leg.fields["speed"].label_in(version) for version in Version] == ["Speed"] * 3


def test_a_field_knows_what_was_declared(journey: type[Packet]) -> None:
    reason, level, first, legs, extras = (journey.fields[key] for key in ("reason", "level", "first", "legs", "extras"))
    assert (reason.shape, reason.type, reason.tail, reason.unit, reason.kind, reason.default) == (
        "value",
        BYTE,
        (V5,),
        "s",
        "number",
        None,
    )
    assert level.fixed == {V311: 4, V5: 5}
    assert level.limits == (NOT_ZERO,)
    assert (first.shape, first.item, first.when, first.default, first.doc) == (
        "group", Leg, "mode", None, "where it begins",
    )  # fmt: skip
    assert (legs.shape, legs.item, legs.limits, legs.each) == ("list", Leg, (FILLED,), (NOT_ZERO,))
    assert (extras.shape, extras.since, extras.tail, extras.default) == ("properties", V5, (), ())
    assert (Leg.fields["speed"].octet, Leg.fields["name"].octet) == ("gear", "")


def test_derived_bits_name_the_field_whose_presence_they_announce() -> None:
    assert PACKETS[1].fields["will_flag"].derived == "will"


def test_properties_in_a_tail_are_absent_by_default() -> None:
    field: Field = properties(default=None, tail=True)
    assert (field.tail, field.default) == ((V5,), None)


@pytest.mark.parametrize(
    ("mask", "shift", "single"),
    [(0b1000, 3, True), (0b0110, 1, False), (1, 0, True), (0xFF, 0, False), (0xC0, 6, False)],
)
def test_a_mask_gives_shift_and_whether_it_is_one_bit(mask: int, shift: int, single: bool) -> None:
    field: Field = bits(mask)
    assert (field.shift, field.single, field.shape) == (shift, single, "bits")


def test_a_field_of_whole_bytes_is_not_a_single_bit() -> None:
    field: Field = wire(BYTE)
    assert field.single is False


def test_bits_are_picked_from_a_byte() -> None:
    low: Field = bits(0b0110)
    assert [low.pick(octet) for octet in (0b0000, 0b0010, 0b0100, 0b1111_1111)] == [0, 1, 2, 3]
    flag: Field = bits(0b1000)
    assert flag.pick(0b1000) is True
    assert flag.pick(0b1111_0111) is False


def test_a_field_is_in_some_versions_only(journey: type[Packet]) -> None:
    assert [journey.fields["fast"].exists_in(version) for version in Version] == [True, True, False]
    assert [journey.fields["last"].exists_in(version) for version in Version] == [False, False, True]


def test_a_value_has_the_meaning_of_its_table(journey: type[Packet]) -> None:
    assert journey.fields["reason"].meaning(0x10, V5) == "No matching subscribers"
    assert Leg.fields["speed"].meaning(1, V5) == "slow"
    assert Leg.fields["speed"].meaning(2, V5) == ""
    assert journey.fields["mode"].meaning(1, V5) == ""


def test_a_packet_has_its_defaults(journey: Any) -> None:
    packet = journey()
    assert (packet.fast, packet.mode, packet.first, packet.reason, packet.extras, packet.legs) == (
        False, 2, None, None, (), (),
    )  # fmt: skip


def test_what_has_no_default_must_be_given() -> None:
    assert Leg.fields["name"].default is MISSING
    with pytest.raises(TypeError, match=r"^Leg needs name$"):
        Leg()  # type: ignore[call-arg]


def test_undeclared_fields_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^Leg has no field height, width$"):
        Leg(name="a", height=1, width=2)  # type: ignore[call-arg]


def test_packets_are_equal_when_their_values_are() -> None:
    assert Leg(name="a") == Leg(name="a", speed=1)
    assert Leg(name="a") != Leg(name="b")
    assert Leg(name="a") != "a"
    assert hash(Leg(name="a")) == hash(Leg(name="a"))
    assert len({Leg(name="a"), Leg(name="a"), Leg(name="b")}) == 2


def test_packets_of_different_types_are_not_equal() -> None:
    assert PACKETS[12]() != PACKETS[13]()
    assert hash(PACKETS[12]()) != hash(PACKETS[13]())


def test_repr_is_how_it_is_built() -> None:
    assert repr(Leg(name="a")) == "Leg(name='a', speed=1, uphill=False)"


def test_replace_leaves_the_old_one() -> None:
    leg = Leg(name="a")
    assert leg.replace(speed=3) == Leg(name="a", speed=3)
    assert leg.speed == 1


def test_a_property_is_an_identifier_and_a_value() -> None:
    assert Property(0x23, 1) == (0x23, 1)
    assert Property(0x23, 1).id == 0x23


def test_type_checkers_know_the_words_of_a_declaration() -> None:
    for declares in (fields.declare, fields.control_packet):
        known: Any = declares
        assert set(known.__dataclass_transform__["field_specifiers"]) == {bits, wire, group, repeat, properties}
