"""The parts of a capture, each read by itself, hold the records of the whole file, and what is wrong with it."""

import io
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.capture.types import BadCapture, CaptureRecord
from mqttpub.columns.scan.records import reader, records
from mqttpub.columns.scan.splits import Split, end, index
from tests.build.containers import damaged, zipped
from tests.build.fleet import capture
from tests.build.troubled_captures import troubled
from tests.columns.scan.test_records import listed
from tests.paths import CAPTURES

SIZES = st.sampled_from((1, 300, 2_000, 20_000))


def whole(data: bytes) -> tuple[list[CaptureRecord], str]:
    """Return the records of a file, and why it is broken."""
    found = list[CaptureRecord]()
    try:
        found.extend(listed(records(reader(io.BytesIO(data)), Counter())))
    except BadCapture as error:
        return found, f"offset {error.offset}: {error.message}"
    return found, ""


def apart(data: bytes, size: int, block: int = 1_000) -> tuple[list[CaptureRecord], str]:
    """Return the same from its parts, and check that these are the file."""
    file = io.BytesIO(data)
    parts = index(file, len(data), size=size, block=block)
    assert [each.stop for each in parts] == [*(each.start for each in parts[1:]), len(data)]
    found, broken = list[CaptureRecord](), ""
    for part in parts:
        assert (not broken, part.first) == (True, len(found) + 1)
        try:
            for record in listed(part.records(file, Counter(), block=block)):
                found.append(record._replace(number=part.first - 1 + record.number))
        except BadCapture as error:
            broken = f"offset {error.offset}: {error.message}"
    return found, broken


@pytest.mark.parametrize("size", [1, 500, 10_000, 1 << 30])
@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.stem)
def test_parts_of_a_pcapng_hold_its_records(path: Path, size: int) -> None:
    data = path.read_bytes()
    assert apart(data, size) == whole(data)


@pytest.mark.slow
@settings(max_examples=30)
@given(troubled(), SIZES)
def test_parts_hold_all_records_below_any_link_layer(data: bytes, size: int) -> None:
    assert apart(data, size) == whole(data)


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), SIZES, st.sampled_from((100, 5_000)))
def test_parts_of_a_broken_pcap_hold_what_the_whole_holds(seed: int, size: int, block: int) -> None:
    data = damaged(Random(seed), capture(seed % 7, clients=3, messages=8))
    assert apart(data, size, block) == whole(data)


@settings(max_examples=60)
@given(st.integers(0, 1 << 30), SIZES, st.sampled_from(sorted(CAPTURES.iterdir())))
def test_parts_of_a_broken_pcapng_hold_what_the_whole_holds(seed: int, size: int, path: Path) -> None:
    data = damaged(Random(seed), path.read_bytes())
    assert apart(data, size) == whole(data)


def test_parts_have_about_the_size_that_is_asked_for() -> None:
    data = capture(1, clients=4, messages=40)
    parts = index(io.BytesIO(data), len(data), size=4_000)
    assert len(parts) == len(data) // 4_000 + 1
    assert all(3_800 < each.stop - each.start < 4_200 for each in parts[:-1])


@pytest.mark.parametrize("data", [b"", b"x", zipped(capture(1, clients=1, messages=2)), capture(1)[:24]])
def test_what_cannot_be_divided_is_one_part(data: bytes) -> None:
    assert index(io.BytesIO(data), len(data), size=10) == [Split(0, len(data), 1, b"")]


def test_a_file_that_grows_meanwhile_ends_where_it_ended() -> None:
    data = capture(1, clients=2, messages=10)
    parts = index(io.BytesIO(data), 2_000, size=500)
    assert parts[-1].stop == 2_000
    assert all(each.start < 2_000 for each in parts)


@settings(max_examples=100)
@given(st.data(), st.booleans(), st.integers(0, 1 << 30))
def test_a_file_that_grows_is_read_on_from_the_end_of_its_last_whole_record(
    draws: st.DataObject, broken: bool, seed: int
) -> None:
    data = draws.draw(st.sampled_from([capture(2, clients=3, messages=8), *map(Path.read_bytes, CAPTURES.iterdir())]))
    data = damaged(Random(seed), data) if broken else data
    sizes = sorted(draws.draw(st.lists(st.integers(0, len(data)), max_size=4)))
    found, place = list[CaptureRecord](), (0, 1, b"")
    for size in (*sizes, len(data)):
        file = io.BytesIO(data[:size])
        (*_, last) = parts = index(file, size, size=2_000, begin=place)
        assert (parts[0].start, parts[0].first) == place[:2]
        found, problem = found[: place[1] - 1], ""
        for part in parts:
            try:
                for record in listed(part.records(file, Counter())):
                    found.append(record._replace(number=part.first - 1 + record.number))
            except BadCapture as error:
                problem = f"offset {error.offset}: {error.message}"
        if (then := end(file, last)) is None:
            # The header is not whole, or there is damage, after which a later look may find other records.
            assert size < 100 or broken
        assert then is None or then[1] == len(found) + 1
        place = then or (0, 1, b"")
    assert (found, problem) == whole(data)


def test_compressed_files_and_texts_have_no_place_to_read_on_from() -> None:
    for data in (zipped(capture(1, clients=1, messages=2)), b"30 05 00 01 61 68 69\n", b""):
        assert end(io.BytesIO(data), Split(0, len(data), 1, b"")) is None
