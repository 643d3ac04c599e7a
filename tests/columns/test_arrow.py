"""Arrow arrays that are made of buffers hold what the same arrays made of Python values do."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.columns.arrow import coded, coded_texts, encoded, strings, texts, values

WORDS = st.lists(st.none() | st.text(max_size=3), min_size=1, max_size=6)
BLOBS = st.lists(
    st.none() | st.sampled_from([b"", b"a", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80"]) | st.binary(max_size=4)
)


@given(WORDS, st.data())
def test_words_at_places_are_a_dictionary_without_doubles(words: list[str | None], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(words) - 1)))
    found = coded(words, np.array(places, np.int64))
    found.validate(full=True)
    assert found.to_pylist() == [words[place] for place in places]
    assert found.null_count == sum(words[place] is None for place in places)
    known = found.dictionary.to_pylist()
    assert len(known) == len(set(known))
    assert None not in known


@given(st.lists(st.none() | st.text(max_size=2)), st.integers(0, 3))
def test_a_column_is_numbers_and_words(column: list[str | None], skipped: int) -> None:
    for array in (pa.array(column, pa.string()), pa.array(column, pa.string()).dictionary_encode()):
        index, words = encoded(array[skipped:])
        assert [None if place < 0 else words[place] for place in index.tolist()] == column[skipped:]


@given(BLOBS)
def test_bytes_are_texts_if_they_are_utf8_without_u_0000(blobs: list[bytes | None]) -> None:
    bad = [
        row
        for row, blob in enumerate(blobs)
        if blob is not None and (b"\0" in blob or blob.decode("utf-8", "replace").encode() != blob)
    ]
    for way in (texts, coded_texts):
        found, rows = way(pa.array(blobs, pa.binary()))
        assert rows.tolist() == bad
        if not bad:
            assert found.to_pylist() == [None if blob is None else blob.decode() for blob in blobs]


@given(st.lists(st.text(max_size=4)), st.lists(st.integers(-128, 127)), st.integers(0, 3))
def test_buffers_are_made_and_read_lean(words: list[str], numbers: list[int], skipped: int) -> None:
    strings(words).validate(full=True)
    assert strings(words).to_pylist() == words
    for kind in (pa.int8(), pa.int32(), pa.int64()):
        assert values(pa.array(numbers, kind)[skipped:]).tolist() == numbers[skipped:]
