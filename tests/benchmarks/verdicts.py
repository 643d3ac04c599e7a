"""Broken packets, by the way in which they are broken: how many verdicts are right, and how many draw a mark of tshark.

The packets are those of tests/lint/test_verdicts.py. A verdict of mqttpub is right when it names the
statement and the very bytes, and nothing else. Of tshark any mark counts, wherever it stands: each
packet is given to it in a connection of its own, behind a CONNECT that tells the version. `--each` is the number of
valid packets of a type and sender, `--most` that of places at which each way breaks one. With `--statements`, the ways
to break each statement are listed instead.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.framing import frame_length
from mqttpub.lint.packet.check import lint
from mqttpub.spec.packets import Connect
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.cursor import Overlong
from tests.build.frames import LARGEST, SentSegment, pcap_of
from tests.lint.breaking import Mark, amiss, broken, subjects
from tests.lint.test_verdicts import HINTS, ways_of

VALID = "valid"
MESSAGES = (3, 4, 5, 6, 7)
"""Packet types of PUBLISH and its acknowledgements."""
TSHARK = "tshark -n -o tcp.analyze_sequence_numbers:FALSE -T fields -e tcp.stream -e _ws.malformed -e _ws.expert -r"


class Sample(NamedTuple):
    """A packet, and what is wrong with it."""

    way: str
    version: Version
    direction: Direction
    data: bytes
    marks: tuple[Mark, ...]
    code: int
    """Packet type before it was broken."""

    @property
    def error(self) -> bool:
        """Whether what is wrong is an error, not a warning or note."""
        return any(statement(mark.ids[0]).severity == "error" for mark in self.marks)

    @property
    def whole(self) -> bool:
        """Whether a stream can have it; more or fewer bytes than the Remaining Length says are another packet's."""
        try:
            return frame_length(self.data) == len(self.data)
        except Overlong:
            return True


class Row(NamedTuple):
    """A line of the table."""

    name: str
    made: int
    right: int
    marked: int | None

    def __str__(self) -> str:
        marked = "" if self.marked is None else f"{self.marked:9,} {_percent(self.marked, self.made)}"
        return f"{self.name:68}{self.made:8,}{self.right:9,} {_percent(self.right, self.made)}{marked}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:5.1f} %" if whole else " " * 7


def samples(version: Version, each: int, most: int) -> Iterator[Sample]:
    """Yield valid packets, and each of them broken."""
    for subject in subjects(version, each):
        code = subject.packet.code
        yield Sample(VALID, version, subject.direction, subject.data, (), code)
        for way, made in broken(subject, most):
            yield Sample(way.name, version, made.direction, made.data, made.marks, code)


def is_right(sample: Sample) -> bool:
    """Whether mqttpub says what is wrong and where, or of a valid packet that nothing is."""
    decoded = decode(sample.data, sample.version, direction=sample.direction)
    found = lint(decoded, sample.direction)
    if sample.way == VALID:
        return not any(each.severity == "error" for each in found)
    return not amiss(found, sample.marks, HINTS)


# tshark


def marked(listed: list[Sample]) -> set[int]:
    """Return the numbers of the packets at which tshark says anything."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packets.pcap"
        path.write_bytes(pcap_of(_segments(listed)))
        lines = subprocess.run([*TSHARK.split(), str(path)], check=True, capture_output=True).stdout.splitlines()
    cells = (line.split(b"\t") for line in lines)
    return {int(stream) for stream, *said in cells if any(said)}


def _segments(listed: Iterable[Sample]) -> Iterator[SentSegment]:
    for number, sample in enumerate(listed):
        connect = encode(Connect(client_id="c"), sample.version)
        if sample.code != Connect.code:
            yield SentSegment(number, Direction.CLIENT, connect)
        for start in range(0, max(len(sample.data), 1), LARGEST):
            yield SentSegment(number, sample.direction, sample.data[start : start + LARGEST])


# the table


def rows(listed: list[Sample], right: list[bool], seen: Mapping[int, bool] | None) -> Iterator[Row | str]:
    """Yield the lines: each way, and sums."""
    everywhere = range(len(listed))

    def row(name: str, chosen: Iterable[int]) -> Row:
        among = list(chosen)
        count = None if seen is None else sum(seen[each] for each in among)
        return Row(name, len(among), sum(right[each] for each in among), count)

    for name in dict.fromkeys(sample.way for sample in listed if sample.way != VALID):
        yield row(name, (each for each in everywhere if listed[each].way == name))
    faulty = [each for each in everywhere if listed[each].way != VALID]
    errors = [each for each in faulty if listed[each].error]
    yield ""
    yield row("all broken packets", faulty)
    yield row("... with warnings or notes", set(faulty) - set(errors))
    yield row("... with errors", errors)
    whole = [each for each in errors if listed[each].whole]
    yield row("... with errors, and of the length that the packet says", whole)
    for version in Version:
        family = [each for each in whole if listed[each].version == version and listed[each].code in MESSAGES]
        if family:
            yield row(f"of those, PUBLISH and its acknowledgements in {version.label}", family)
    alarms = [each for each in everywhere if listed[each].way == VALID]
    yield ""
    told = "" if seen is None else f", by tshark: {sum(seen[each] for each in alarms):,}"
    ours = sum(not right[each] for each in alarms)
    yield f"{len(alarms):,} valid packets; false alarms by mqttpub: {ours:,}{told}"


def report(listed: list[Sample]) -> Iterator[str]:
    """Yield the table."""
    right = [is_right(sample) for sample in listed]
    seen = None
    if shutil.which("tshark"):
        numbers = marked(listed)
        seen = {each: each in numbers for each in range(len(listed))}
    yield f"{'':68}{'made':>8}{'mqttpub right':>17}{'' if seen is None else '   marked by tshark'}"
    yield from map(str, rows(listed, right, seen))


def broken_statements(version: Version) -> Iterator[str]:
    """Yield every statement with the ways that break it."""
    for id, names in sorted(ways_of(version).items()):
        yield f"{id:32}{'; '.join(names)}"


def lines(
    folder: Path, *, each: int = 12, most: int = 2, versions: tuple[str, ...] = (), statements: bool = False
) -> Iterator[str]:
    """Yield the table."""
    wanted = [*map(Version.named, versions)] or list(Version)
    if statements:
        for version in wanted:
            yield from broken_statements(version)
        return
    yield from report([sample for version in wanted for sample in samples(version, each, most)])
