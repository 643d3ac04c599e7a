"""Findings in rows are those of the Judge, in its order."""

import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.reading import events
from mqttpub.codec.tree import Finding
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.findings import Judging
from mqttpub.columns.reassemble.frames import of_events, packets_of
from mqttpub.columns.schema import FINDINGS
from mqttpub.lint.judge import Judge
from mqttpub.spec.packets import Connack, Connect, Publish
from mqttpub.spec.versions import Direction
from mqttpub.traffic.events import Closed, Event, GapSeen, PacketSeen
from tests.build.events import Dialog, talks
from tests.columns.packet_rows import batches, rows, text
from tests.paths import CAPTURES as SHIPPED_CAPTURES

CAPTURES = sorted((SHIPPED_CAPTURES).glob("*.pcapng"))


def judged(found: Sequence[Event], cuts: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Return rows of findings, packets taken in batches; what is between two of them is pickled."""
    judging, memory, made = Judging(), Memory(), []
    for frames in batches(found, cuts):
        batch = judging.add(frames, decode(frames, capture="c", memory=memory), capture="c")
        batch.validate(full=True)
        assert batch.schema == FINDINGS
        made += rows(batch)
        judging = pickle.loads(pickle.dumps(judging))
    return made


def truth(found: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Return the same as the Judge tells it."""
    judge, made = Judge(), []
    for event in found:
        if isinstance(event, PacketSeen):
            findings = list(judge.packet(event)[1])
        else:
            findings = list(judge.event(event))
            if isinstance(event, GapSeen) and event.malformed:
                findings.append(judge.unread(event))
        made += [(event.record or None, *_parts(each)) for each in findings]
    return made


def _parts(each: Finding) -> tuple[Any, ...]:
    end = each.at_fault and each.at_fault.value
    return each.severity, each.statement or None, text(each.path), text(each.message), *each.span, each.mask, end


def told_by(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return of a row what the Judge tells."""
    place = row["fault_offset"], row["fault_offset"] + row["fault_bytes"], row["mask"], row["at_fault"]
    return row["frame"], row["severity"], row["statement"], row["path"], row["message"], *place


def test_a_finding_has_the_columns_of_its_packet() -> None:
    talk = Dialog().client(Connect(client_id="c")).server(Connack())
    talk.client(Publish(topic="a/#", qos=0, payload=b""))
    (row,) = judged(talk.events)
    assert (row["capture"], row["frame"], row["client_id"], row["direction"], row["type"]) == (
        "c",
        3,
        "c",
        "client",
        "PUBLISH",
    )
    assert (row["severity"], row["statement"], row["path"]) == ("error", "MQTT5-3.3.2-2", "publish.topic")
    assert row["time"] is not None


@pytest.mark.parametrize("closer", [Direction.CLIENT, None])
def test_the_end_at_fault_is_not_the_one_that_closed(closer: Direction | None) -> None:
    talk = Dialog().client(Connect(client_id="c")).server(Connack(reason_code=0x87))
    talk.step(12_000_000_000)
    (row,) = judged([*talk.events, Closed(talk.ends, talk.time, 9, closer, "RST" if closer else "end")])
    assert (row["statement"], row["direction"], row["at_fault"]) == ("MQTT5-3.2.2-7", None, "server")


def test_bytes_that_are_not_a_packet_have_a_finding() -> None:
    talk = Dialog().client(Connect(client_id="c")).gap(Direction.CLIENT, None, "lost", malformed=True)
    found = judged(talk.events)
    assert [(row["type"], row["message"]) for row in found] == [(None, "lost")]


def test_the_end_of_the_capture_comes_after_all_packets() -> None:
    talk = Dialog().client(Connect(client_id="c")).client(Connect(client_id="c"))
    found = [*talk.events, Closed(talk.ends, None, 0, None, "end")]
    assert [told_by(row) for row in judged(found, [1])] == truth(found)
    assert "MQTT5-3.1.0/once" in {row["statement"] for row in judged(found, [1])}


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_real_captures_are_right(path: Path) -> None:
    with path.open("rb") as file:
        found = list(events(file))
    assert judged(found, [3, 20]) == []
    assert [event for event in found if isinstance(event, PacketSeen)] == list(packets_of(of_events(found)))


@given(
    talks().filter(lambda found: len({event.ends.number for event in found}) < 2),
    st.lists(st.integers(0, 14), max_size=2),
)
@settings(max_examples=20)
def test_findings_are_those_of_the_judge(found: list[Event], cuts: list[int]) -> None:
    assert [told_by(row) for row in judged(found, cuts)] == truth(found)
