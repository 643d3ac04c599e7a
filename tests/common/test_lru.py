"""A cache drops the entry that was used longest ago."""

from hypothesis import given
from hypothesis import strategies as st

from mqttpub.common.lru import BoundedMemo, WeightedLru


def test_the_entry_used_longest_ago_makes_room() -> None:
    table: WeightedLru[int, str] = WeightedLru(3)
    for number in range(3):
        table.put(number, str(number))
    assert table.get(0) == "0"
    table.put(3, "3")
    assert [*table] == [2, 0, 3]
    assert table.values() == ["2", "0", "3"]
    assert table.get(1) is None
    assert table.dropped == 1


def test_a_value_above_the_limit_stays_alone() -> None:
    table: WeightedLru[str, int] = WeightedLru(10)
    table.put("small", 1, 5)
    table.put("large", 2, 50)
    assert [*table] == ["large"]
    table.put("large", 3, 4)
    assert (table.weight, table.dropped, table.pop("large"), table.pop("large")) == (4, 1, 3, None)
    assert (len(table), table.weight) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 8))), st.integers(1, 20))
def test_the_weight_is_that_of_the_entries(puts: list[tuple[int, int]], limit: int) -> None:
    table: WeightedLru[int, int] = WeightedLru(limit)
    for key, weight in puts:
        table.put(key, weight, weight)
        assert table.get(key) == weight
        assert table.weight == sum(table.values())
        assert table.weight <= limit or len(table) == 1


def test_what_is_kept_has_a_bound() -> None:
    known: BoundedMemo[int | str, str] = BoundedMemo(1000)
    for number in range(500):
        assert known.keep(number, "x" * (number % 90), 64 + number % 90) == "x" * (number % 90)
        assert known[number] == "x" * (number % 90)
        assert known.size == sum(64 + len(text) for text in known.values()) <= 1000
    known.keep("long", "x" * 1001, 1001)
    assert "long" not in known


def test_entries_without_a_size_are_counted() -> None:
    known: BoundedMemo[int, int] = BoundedMemo(3)
    for number in range(4):
        known.keep(number, number)
        assert len(known) == (1, 2, 3, 1)[number]


def test_nothing_is_left_after_it_was_cleared() -> None:
    known: BoundedMemo[int, str] = BoundedMemo(1000)
    known.keep(1, "x" * 900, 900)
    known.clear()
    known.keep(2, "x" * 900, 900)
    assert known == {2: "x" * 900}
