from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.spark.formats.errors import SpoolError
from mqttpub.spark.formats.spool import (
    HEAD,
    MESSAGE,
    STATE,
    SegmentRange,
    Spool,
    SpoolRecord,
    ahead,
    opened,
    segment_ranges,
    segments,
    spool_records,
    trim,
)
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version


def packet(payload: bytes) -> bytes:
    return encode(Publish(topic="t", payload=payload), Version.V5)


def filled(folder: Path, payloads: list[bytes], segment: int = 1 << 20) -> Spool:
    spool = Spool(str(folder), window=4, segment=segment, wait=0)
    for number, payload in enumerate(payloads):
        assert spool.message(number, packet(payload))
        spool.flush()
    return spool


def kept(folder: Path, start: int, end: int, size: int = 1 << 20, chunk: int = 7) -> Iterator[SpoolRecord]:
    for stretch in segment_ranges(folder, start, end, size):
        yield from (record for record in spool_records(stretch, chunk) if record.kind == MESSAGE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=30), max_size=20), st.sampled_from([1, 150, 10_000]), st.sampled_from([1, 90, 9999]))
def test_flushed_messages_are_read_for_any_segments_and_parts(payloads: list[bytes], segment: int, size: int) -> None:
    with TemporaryDirectory() as name:
        spool = filled(Path(name), payloads, segment)
        found = list(kept(Path(name), spool.first, spool.position, size))
        spool.close()
    assert [record.data for record in found] == [packet(payload) for payload in payloads]
    assert [record.time for record in found] == list(range(len(payloads)))
    assert len({record.position for record in found}) == len(payloads)


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6), st.data())
def test_a_truncated_last_record_is_removed(payloads: list[bytes], data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        spool = filled(folder, payloads)
        ends = [record.end for record in kept(folder, 0, spool.position)]
        spool.close()
        path = Path(segments(folder)[0].place)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole) - 1))
        path.write_bytes(whole[:cut] + data.draw(st.sampled_from([b"", b"\0" * 50])))
        again = filled(folder, [b"next"])
        found = [record.data for record in kept(folder, again.first, again.position)]
        again.close()
    assert found == [packet(each) for each, end in zip(payloads, ends, strict=True) if end <= cut] + [packet(b"next")]


def test_messages_before_a_flush_are_not_readable(folder: Path) -> None:
    spool = filled(folder, [b"a"])
    end = spool.position
    spool.message(0, packet(b"b"))
    assert spool.position == end
    spool.close()
    assert [record.data for record in kept(folder, 0, end)] == [packet(b"a")]


def test_positions_go_on_after_a_trim(folder: Path) -> None:
    spool = filled(folder, [b"%d" % number for number in range(9)], segment=100)
    before = [record.position for record in kept(folder, 0, spool.position)]
    trim(folder, before[5])
    spool.close()
    again = Spool(str(folder), window=4, segment=100)
    assert 0 < again.first <= before[5]
    with pytest.raises(SpoolError, match="no longer holds position 0"):
        segment_ranges(folder, 0, again.position)
    assert [record.position for record in kept(folder, before[5], again.position)] == before[5:]
    again.close()


def test_a_broken_record_is_reported_with_its_position(folder: Path) -> None:
    spool = filled(folder, [b"first", b"second"])
    second = list(kept(folder, 0, spool.position))[1]
    spool.close()
    path = Path(segments(folder)[0].place)
    data = bytearray(path.read_bytes())
    data[second.position + HEAD.size] ^= 1
    path.write_bytes(data)
    with pytest.raises(SpoolError, match=f"broken at position {second.position}, in "):
        list(spool_records(SegmentRange(str(path), 0, spool.position, 0)))


def test_ahead_counts_messages_and_bytes(folder: Path) -> None:
    spool = filled(folder, [b"%d" % number for number in range(9)], segment=100)
    ends = [record.end for record in kept(folder, 0, spool.position)]
    assert [ahead(folder, 0, spool.position, rows=count) for count in (1, 5, 9, 99)] == [
        ends[0],
        ends[4],
        ends[8],
        spool.position,
    ]
    assert ahead(folder, 0, spool.position, size=1) == ends[0]
    assert ahead(folder, ends[2], spool.position, size=1) == ends[3]
    assert ahead(folder, 0, spool.position, size=ends[4]) == ends[4]
    spool.close()


def test_records_without_a_message_are_not_worth_a_batch(folder: Path) -> None:
    spool = filled(folder, [])
    assert spool.position > 0
    assert ahead(folder, 0, spool.position, rows=9) == ahead(folder, 0, spool.position, size=9) == 0
    spool.close()


def test_a_spool_has_one_writer_and_one_session(folder: Path) -> None:
    spool = Spool(str(folder), window=4, client_id="me")
    with pytest.raises(SpoolError, match="another query is using the spool"):
        Spool(str(folder), window=4, wait=0)
    spool.remember(("a", "b"))
    spool.close()
    again = Spool(str(folder), window=4)
    assert (again.facts.client_id, again.facts.filters, again.facts.id) == ("me", ("a", "b"), spool.facts.id)
    again.close()
    with pytest.raises(SpoolError, match="belongs to the session of client_id 'me', not 'you'"):
        Spool(str(folder), window=4, client_id="you")
    (folder / "facts.json").write_text("{}")
    with pytest.raises(SpoolError, match=r"facts\.json' is broken"):
        Spool(str(folder), window=4)


def test_a_disk_that_is_full_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = filled(folder, [b"a"])
    real = spool._file

    class Full:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def write(self, data: memoryview) -> int:
            real.write(data[:5])
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool, "_file", Full())
    spool.message(1, packet(b"b"))
    with pytest.raises(OSError, match="No space left"):
        spool.flush()
    monkeypatch.setattr(spool, "_file", real)
    spool.flush()
    assert [record.data for record in kept(folder, 0, spool.position)] == [packet(b"a"), packet(b"b")]
    spool.close()


def test_each_flush_to_an_object_store_is_a_segment(s3: str) -> None:
    place = f"{s3}/spool"
    spool = opened(place, window=4, client_id="me")
    assert (spool.first, spool.position) == (0, 0)
    for number in range(3):
        spool.message(number, packet(b"%d" % number))
        spool.message(number, packet(b"x"))
        spool.flush()
    with pytest.raises(SpoolError, match="another query is using the spool"):
        opened(place, window=4, wait=0)
    parts = segment_ranges(place, 0, spool.position)
    found = [record for part in parts for record in spool_records(part)]
    assert [record.data for record in found if record.kind == MESSAGE] == [
        packet(each) for each in (b"0", b"x", b"1", b"x", b"2", b"x")
    ]
    assert [record.position for record in found if record.kind == STATE] == [each.base for each in segments(place)]
    trim(place, found[-1].position)
    spool.close()
    spool = opened(place, window=4, client_id="me")
    assert (spool.first, spool.position) == (segments(place)[0].base, found[-1].end)
    # Another writer wrote at this place: what would follow is not acknowledged.
    other = packet(b"other")
    spool.folder.replace(f"{spool.position:020}.spool", other)
    spool.message(1, packet(b"late"))
    with pytest.raises(SpoolError, match="another query has taken over the spool"):
        spool.flush()
    spool.close()


@pytest.mark.parametrize("place", ["here", "s3"])
def test_a_message_of_qos_2_that_comes_again_is_known_after_a_restart(
    place: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    at = f"{request.getfixturevalue('s3')}/spool" if place == "s3" else str(tmp_path / "spool")
    publish = encode(Publish(topic="t", qos=2, packet_id=7), Version.V5)
    spool = opened(at, window=4)
    spool.connected(False)
    assert spool.message(1, publish)
    spool.flush()
    spool.close()
    spool = opened(at, window=4)
    spool.connected(True)
    assert not spool.message(2, publish)
    assert spool.release(3, 7)
    spool.flush()
    spool.close()
    spool = opened(at, window=4)
    assert spool.message(4, publish)
    spool.close()
