"""Faults of a conversation are also found in its capture, packet by packet and in columns alike."""

import io
from itertools import product

import pytest

from mqttpub.capture.reading import events
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode
from mqttpub.columns.findings import Judging
from mqttpub.columns.read import finish, read
from mqttpub.columns.reassemble.state import State
from mqttpub.lint.judge import Judge
from mqttpub.script.steps import EndStep, PacketStep, WaitStep
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import GapSeen, PacketSeen
from tests.build.broken_captures import written
from tests.build.frames import ACK, FIN, RST, START, Wire, pcap, records
from tests.lint.connection.conversation_text import Row, duration, steps
from tests.lint.connection.tables import FAULTS, NEAR

HOW = {"FIN": FIN | ACK, "RST": RST}
READABLE = [row for row in FAULTS if not row.text.startswith("mid") and "gap" not in row.text]
"""The others begin where the reader of captures needs more packets to find its place."""
NEARLY = [row for row in NEAR if not row.text.startswith("mid") and "gap" not in row.text]


def recorded(row: Row) -> bytes:
    """Return a conversation as a capture from its SYN on, at the times that it says."""
    wire, sent = Wire(), [0, 0]
    packets, times = wire.opening(), [START] * 3
    time = START
    for step, data in steps(row.text, row.version):
        time += duration(step)
        side = 0 if getattr(step, "direction", None) is Direction.CLIENT else 1
        if isinstance(step, PacketStep):
            packets.append(wire.packet(side, sent[side], data, ack=sent[1 - side]))
            sent[side] += len(data)
        elif isinstance(step, EndStep) and step.how in HOW:
            packets.append(wire.packet(side, sent[side], flags=HOW[step.how], ack=sent[1 - side]))
        times += [time] * (len(packets) - len(times))
    if isinstance(step, WaitStep) or (isinstance(step, EndStep) and step.how == "end"):
        # Something has to tell how much time went by.
        packets.append(wire.packet(0, sent[0], ack=sent[1]))
        times.append(time)
    return pcap(each._replace(time_ns=when) for each, when in zip(records(packets), times, strict=True))


def judged(file: bytes, version: Version | None = None, *, columns: bool = True) -> set[str]:
    """Return the statements that a capture breaks, read packet by packet, and check that columns say the same."""
    judge, found = Judge(tally=True), set()
    for event in events(io.BytesIO(file), version=version):
        if isinstance(event, PacketSeen):
            found |= {each.statement for each in judge.packet(event)[1]}
            continue
        found |= {each.statement for each in judge.event(event)}
        if isinstance(event, GapSeen) and event.malformed:
            found.add(judge.unread(event).statement)
    assert not columns or found == in_columns(file, version)
    judge.finish()
    return set(judge.broken)


def in_columns(file: bytes, version: Version | None) -> set[str]:
    """Return the same as the tables have it."""
    state, judging, memory, found = State(version=version), Judging(), Memory(), set()
    for batch in (*read([io.BytesIO(file)], state=state), finish(state)):
        rows = judging.add(batch, decode(batch, memory=memory))
        found |= set(rows["statement"].to_pylist())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("version", Version)
def test_each_fault_of_a_conversation_is_found_in_its_capture(version: Version) -> None:
    missed = {str(row): set(row.ids) - judged(recorded(row), version) for row in READABLE if row.version == version}
    assert {text: ids for text, ids in missed.items() if ids} == {}


@pytest.mark.parametrize("version", Version)
def test_a_near_miss_in_a_capture_has_no_finding(version: Version) -> None:
    wrong = {
        str(row): set(row.ids) & judged(recorded(row), version, columns=False)
        for row in NEARLY
        if row.version == version
    }
    assert {text: ids for text, ids in wrong.items() if ids} == {}


FIRST = ("connack", "publish p=text", "puback i1", "pubrec i1", "pubrel i1", "pubcomp i1", "subscribe i1", "suback i1",
         "unsubscribe i1", "unsuback i1", "pingreq", "pingresp", "disconnect", "auth")  # fmt: skip
LATER = ("", "; < disconnect", "; > connect; < connack", "; < connack; > pingreq")


@pytest.mark.slow
@pytest.mark.parametrize("version", Version)
def test_a_client_that_does_not_start_with_connect_is_reported(version: Version) -> None:
    expected = {Version.V5: "MQTT5-3.1.0-1", Version.V311: "MQTT311-3.1.0-1", Version.V31: "MQTT31-3.1/first"}[version]
    for first, later, earlier in product(FIRST, LATER, ("", "< connack; ")):
        if version == Version.V5 or first != "auth":
            line = f"{earlier}> {first}{later}"
            assert expected in judged(written(line, version), version), line


def test_a_server_that_sends_before_the_client_is_reported() -> None:
    assert judged(written("< publish; > connect; < connack")) == {"MQTT5-3.2.0-1"}
