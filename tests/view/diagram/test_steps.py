"""Steps of a sequence diagram: nothing is lost by squeezing."""

from itertools import chain, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.tree import Finding
from mqttpub.spec.packets import Pingreq, Pingresp, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import Event, PacketSeen
from mqttpub.view.diagram.ladder import ladder
from mqttpub.view.diagram.mermaid import mermaid
from mqttpub.view.diagram.steps import DiagramStep, steps
from mqttpub.view.diagram.svg import ladder_svg
from mqttpub.view.packet.dump import plain
from mqttpub.wire.cursor import Span
from tests.build.events import CLIENT, SERVER, Dialog, known, linted, talks

ZERO = Publish(topic="t")
ONE = (Publish(topic="t", qos=1, packet_id=1), Puback(packet_id=1))
TWO = (Publish(topic="t", qos=2, packet_id=1), Pubrec(packet_id=1), Pubrel(packet_id=1), Pubcomp(packet_id=1))


def shown(talk: Dialog) -> list[str]:
    """Return the labels of steps; of squeezed ones what is said of them."""
    return [each.facts[0].text if each.kind == "more" else each.label for each in steps(known(talk.events))]


def alternating(count: int, *packets: Publish | Puback | Pubrec | Pubrel | Pubcomp | Pingreq | Pingresp) -> Dialog:
    """Return packets that client and server send in turn, many times."""
    talk = Dialog()
    for packet in chain.from_iterable(repeat(packets, count)):
        end = SERVER if isinstance(packet, Puback | Pubrec | Pubcomp | Pingresp) else CLIENT
        talk.says(end, packet)
    return talk


def test_a_run_shows_its_first_and_its_last() -> None:
    talk = Dialog().client(*[ZERO] * 400)
    assert shown(talk) == ["PUBLISH", "... 398 more PUBLISH", "PUBLISH"]
    first, more, last = steps(known(talk.events))
    assert (first.time_ns, last.time_ns) == (talk.events[0].time, talk.events[-1].time)
    assert (more.direction, more.facts[1].text, more.label) == (CLIENT, "2,388 B", "*")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_short_runs_are_not_squeezed(count: int) -> None:
    assert shown(Dialog().client(*[ZERO] * count)) == ["PUBLISH"] * count


def test_pairs_and_quadruples() -> None:
    assert shown(alternating(100, *ONE)) == [
        "PUBLISH", "PUBACK", "PUBLISH", "PUBACK", "... 194 more: 97 PUBLISH, 97 PUBACK", "PUBLISH", "PUBACK",
    ]  # fmt: skip
    names = ["PUBLISH", "PUBREC", "PUBREL", "PUBCOMP"]
    assert shown(alternating(100, *TWO)) == [
        *names * 2, "... 388 more: 97 PUBLISH, 97 PUBREC, 97 PUBREL, 97 PUBCOMP", *names,
    ]  # fmt: skip
    assert shown(alternating(9, Pingreq(), Pingresp()))[4].startswith("... 12 more: 6 PINGREQ, 6 PINGRESP")


def test_steps_that_differ_are_never_hidden() -> None:
    talk = Dialog().client(*[ZERO] * 10, ZERO.replace(retain=True), *[ZERO] * 10)
    assert shown(talk).count("PUBLISH") == 5
    refused = Dialog().server(
        *[Puback(packet_id=1)] * 9, Puback(packet_id=1, reason_code=0x87), *[Puback(packet_id=1)] * 9
    )
    assert shown(refused).count("PUBACK") == 5
    again = Dialog().client(*[ONE[0]] * 9, ONE[0].replace(dup=True), *[ONE[0]] * 9)
    assert shown(again).count("PUBLISH") == 5


def test_packets_with_findings_are_never_hidden() -> None:
    wrong = bytes.fromhex("380400017461")
    found = [*steps(linted(Dialog().client(*[wrong] * 30).events))]
    assert len(found) == 30
    assert all(each.findings for each in found)


def test_many_findings_are_cut_and_counted() -> None:
    (packet,) = known(Dialog().client(Pingreq()).events)
    assert isinstance(packet, PacketInContext)
    found = Finding("error", "pingreq", Span(0, 1), "is wrong", "A")
    many = [packet._replace(findings=[found] * 30)]
    (step,) = steps(many)
    assert (len(step.findings), step.more_findings_text) == (20, "... 10 more findings")
    assert step._replace(more_findings=1).more_findings_text == "... 1 more finding"
    for drawn in (plain(ladder(many)), "".join(ladder_svg(many)), "".join(mermaid(many))):
        assert drawn.count("is wrong") == 20
        assert "... 10 more findings" in drawn


def test_connections_are_not_mixed() -> None:
    one, two = Dialog(1).client(*[ZERO] * 9), Dialog(2).client(*[ZERO] * 9)
    assert [each.ends.number for each in steps(known([*one.events, *two.events]))] == [1, 1, 1, 2, 2, 2]


def test_squeezing_can_be_switched_off() -> None:
    assert len([*steps(known(Dialog().client(*[ZERO] * 30).events), squeeze=False)]) == 30


def count(found: list[DiagramStep]) -> int:
    """Return how many packets steps stand for."""
    return sum(int(each.facts[0].text.split()[1].replace(",", "")) if each.kind == "more" else 1 for each in found)


small = st.lists(st.sampled_from((ZERO, *ONE, *TWO[1:], Pingreq(), Pingresp())), max_size=4)


@settings(max_examples=15)
@given(st.lists(st.tuples(small, st.integers(1, 9)), max_size=4))
def test_collapsed_steps_count_every_packet(runs: list[tuple[list[Publish], int]]) -> None:
    talk = Dialog()
    for packets, times in runs:
        for _ in range(times):
            talk.client(*packets)
    found = [*steps(known(talk.events))]
    assert count(found) == len(talk.events)
    assert sum(_size(each) for each in found) == sum(
        len(each.data) for each in talk.events if isinstance(each, PacketSeen)
    )
    times_shown = [each.time_ns for each in found if each.time_ns is not None]
    assert times_shown == sorted(times_shown)


def _size(step: DiagramStep) -> int:
    return int(step.facts[1].text.split()[0].replace(",", "")) if step.kind == "more" else step.size_bytes


@settings(max_examples=15)
@given(talks())
def test_any_events_have_steps(events: list[Event]) -> None:
    assert count([*steps(linted(events))]) == len(events)
