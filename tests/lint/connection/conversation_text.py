"""The conversations of the tables faults.txt and near.txt, in the notation of scripts, and what the rules find in them.

The lines of a table have labels in 5.0, 3.1.1 and 3.1 (a dot where a version is not meant). Of several labels
the first is the one that is cited; the others are broken with it. Words for what one of the versions does not have are
left out in that version.

Where a statement binds both ends, the one that sends the faulty packet, or that closes, is at fault; a comment
`# by client` or `# by server` says another.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mqttpub.codec.decode import decode, decode_packet
from mqttpub.codec.tree import Finding
from mqttpub.lint.connection import Conversation, Tally
from mqttpub.script.packets import StepContext, packet_bytes
from mqttpub.script.reader import read_line
from mqttpub.script.steps import EndStep, GapStep, MidStep, PacketStep, Step, WaitStep
from mqttpub.spec.versions import Direction, Version
from tests.lint.label_tables import labelled_lines

MILLISECOND = 1_000_000
_BY = re.compile(r"# by (client|server)$")


class Heard(NamedTuple):
    """What was found, and where it should have been."""

    found: list[list[Finding]]
    """For each step."""
    faults: list[bool]
    at_fault: list[Direction | None]
    """For each step, the end at fault where a statement binds both."""
    data: list[bytes]
    tally: Tally


def steps(text: str, version: Version) -> Iterator[tuple[Step, bytes]]:
    """Yield each step that a line describes, with the bytes of its packet."""
    context = StepContext(version, {}, {}, any_version=True)
    for step in read_line(text):
        yield step, packet_bytes(step, context) if isinstance(step, PacketStep) else b""


def duration(step: Step) -> int:
    """Return how long after the step before it a step happens, in nanoseconds."""
    return step.wait_ns if isinstance(step, WaitStep) else MILLISECOND


def hear(text: str, version: Version, *, fast: bool = False) -> Heard:
    """Return what the rules find in a conversation."""
    all = [(step, data) for step, data in steps(text, version) if not isinstance(step, MidStep)]
    talk = Conversation(None if "connect" in text or "@" in text else version, complete=not text.startswith("mid"))
    time, found = 0, []
    for step, data in all:
        time += duration(step)
        found.append(_one(talk, step, data, version, time, fast))
    faults = [isinstance(step, PacketStep | EndStep) and step.fault for step, _ in all]
    named = _BY.search(text)
    ends = [
        Direction(named[1]) if named and fault else getattr(step, "direction", None)
        for (step, _), fault in zip(all, faults, strict=True)
    ]
    return Heard(found, faults, ends, [data for _, data in all], talk.tally)


def _one(talk: Conversation, step: Step, data: bytes, version: Version, time: int, fast: bool) -> list[Finding]:
    if isinstance(step, GapStep):
        talk.gap(Direction.CLIENT, 3)
    elif isinstance(step, EndStep):
        return talk.closed(step.direction, step.how, time)
    elif isinstance(step, PacketStep):
        if fast:
            return talk.fast(data, decode_packet(data, version), step.direction, time, version)
        return talk.packet(decode(data, version, direction=step.direction), time)
    return []


class Row(NamedTuple):
    """One line of a table, for one of its versions."""

    ids: tuple[str, ...]
    version: Version
    text: str

    def __str__(self) -> str:
        return f"{self.ids[0]} {self.text}"


def rows(table: str) -> list[Row]:
    """Return the lines of a table, once for each version that they are about."""
    return [Row(ids, version, text) for ids, version, (text,) in labelled_lines(table, 1)]
