"""Any way of cutting the input into chunks gives the same pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.cli import records
from mqttpub.cli.records import LineReader, Record

DELIMITERS = [b"\n", b"\0", b"\r\n", b"--", b"aa"]


def read(chunks: list[bytes], delimiter: bytes) -> list[Record]:
    """Return the pieces of chunks."""
    reader = LineReader(delimiter)
    return [record for chunk in chunks for record in reader.feed(chunk)] + reader.finish()


@given(st.lists(st.text("ab\n\r-\0", max_size=8).map(str.encode), max_size=12), st.sampled_from(DELIMITERS))
def test_chunks_do_not_matter(chunks: list[bytes], delimiter: bytes) -> None:
    data = b"".join(chunks)
    found = read([chunk for chunk in chunks if chunk], delimiter)
    pieces = data.split(delimiter)
    if not pieces[-1]:
        pieces.pop()
    assert [record.data for record in found] == pieces
    assert [record.number for record in found] == list(range(1, len(pieces) + 1))
    for record in found:
        before = data[: record.end]
        assert before.endswith(record.data + delimiter) or record.end == len(data)


def test_a_line_is_there_as_soon_as_it_ends() -> None:
    reader = LineReader()
    assert reader.feed(b"one") == []
    assert reader.feed(b"\ntwo\n\nth") == [Record(b"one", 1, 4), Record(b"two", 2, 8), Record(b"", 3, 9)]
    assert reader.finish() == [Record(b"th", 4, 11)]
    assert reader.finish() == []


def test_a_piece_that_no_packet_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_PAYLOAD", 10)
    reader = LineReader()
    reader.feed(b"ok\n0123456789")
    with pytest.raises(ValueError, match="piece 2 of the input has more than 10 bytes"):
        reader.feed(b"0")
