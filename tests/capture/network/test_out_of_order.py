"""Bytes that came in no order, until what is before them comes."""

from hypothesis import given
from hypothesis import strategies as st

from mqttpub.capture.network.out_of_order import OVERHEAD, ByteRange, ReorderBuffer


def stretch(start: int, data: bytes, end: int | None = None) -> ByteRange:
    return ByteRange(start, start + len(data) if end is None else end, data, None, 0)


def popped(stretches: ReorderBuffer) -> list[tuple[int, int, bytes]]:
    found = []
    while stretches:
        found.append(stretches.pop()[:3])
    return found


def test_they_come_out_in_order() -> None:
    stretches = ReorderBuffer()
    for start, data in ((6, b"ghi"), (0, b"abc"), (3, b"def")):
        assert not stretches.add(stretch(start, data))
    assert (stretches.first.data, stretches.last.data, stretches.covered) == (b"abc", b"ghi", 9)
    assert popped(stretches) == [(0, 3, b"abc"), (3, 6, b"def"), (6, 9, b"ghi")]
    assert (stretches.covered, stretches.cost) == (0, 0)


def test_only_uncovered_bytes_are_added() -> None:
    stretches = ReorderBuffer()
    stretches.add(stretch(2, b"cd"))
    stretches.add(stretch(6, b"gh"))
    assert not stretches.add(stretch(0, b"abcdefghij"))
    assert popped(stretches) == [(0, 2, b"ab"), (2, 4, b"cd"), (4, 6, b"ef"), (6, 8, b"gh"), (8, 10, b"ij")]


def test_a_difference_is_seen_wherever_it_is() -> None:
    for at in range(10):
        stretches = ReorderBuffer()
        stretches.add(stretch(0, b"aaaa"))
        stretches.add(stretch(5, b"aaaaa"))
        other = b"a" * at + b"b" + b"a" * (9 - at)
        assert stretches.add(stretch(0, other)) == (at != 4)


def test_bytes_cut_off_are_covered_but_never_differ() -> None:
    stretches = ReorderBuffer()
    stretches.add(stretch(0, b"ab", end=6))
    assert not stretches.add(stretch(2, b"zzzz"))
    assert not stretches.add(stretch(4, b"", end=9))
    assert popped(stretches) == [(0, 6, b"ab"), (6, 9, b"")]


def test_memory_is_counted() -> None:
    stretches = ReorderBuffer()
    stretches.add(stretch(0, b"abc"))
    stretches.add(stretch(9, b"", end=99))
    assert stretches.cost == 2 * OVERHEAD + 3


@given(st.lists(st.tuples(st.integers(0, 60), st.binary(min_size=1, max_size=20))))
def test_of_any_stretches_the_first_copy_of_each_byte_stays(added: list[tuple[int, bytes]]) -> None:
    stretches, bytes_of = ReorderBuffer(), dict[int, int]()
    for start, data in added:
        places = list(enumerate(data, start))
        assert stretches.add(stretch(start, data)) == any(bytes_of.get(at, byte) != byte for at, byte in places)
        bytes_of = {**dict(places), **bytes_of}
    assert stretches.covered == len(bytes_of)
    found = popped(stretches)
    assert {at: byte for start, _, data in found for at, byte in enumerate(data, start)} == bytes_of
    assert found == sorted(found)
    assert sum(len(data) for _, _, data in found) == len(bytes_of)
