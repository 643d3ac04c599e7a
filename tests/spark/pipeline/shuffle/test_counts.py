"""All tasks know how many records come before a source, whatever the parts in which it was read."""

import numpy as np

from mqttpub.columns.reassemble.state import SOURCE_BITS, UNUSED_KEYS
from mqttpub.spark.pipeline.job import Job, SourceResult, Unit
from mqttpub.spark.pipeline.shuffle.counts import OwnSources, SourceCounts, TaskCounts, source_results
from mqttpub.spark.pipeline.sources import Source

Found = tuple[Unit, SourceResult]


def counted(*tasks: list[Found], records: int = 0) -> SourceCounts:
    """Return the counts of tasks, each of which found this."""
    counts = SourceCounts(Job("", "", records=records))
    for given in tasks:
        task = TaskCounts(given[0][0].number, given[0][0].first)
        for unit, found in given:
            task = task.plus(unit, found)
        counts.add(task.packed())
    return counts


def whole(number: int, records: int, *, skip: int = 0, last_ns: int | None = None, unread: bool = False) -> Found:
    return Unit(number, Source("", "", 100, skip=skip)), SourceResult(records, unread=unread, last_ns=last_ns)


def part(number: int, first: int, found: SourceResult, *, last: bool = False) -> Found:
    return Unit(number, Source("", "", 100), first - 1, None if last else 99, first), found


def test_parts_after_an_error_of_the_system_do_not_count() -> None:
    parts = [
        part(0, 21, SourceResult(10, last_ns=30), last=True),
        part(0, 11, SourceResult(4, "Input/output error", unread=True, last_ns=20)),
        part(0, 1, SourceResult(10, last_ns=10)),
        part(2, 1, SourceResult(5, "offset 9: broken", last_ns=40)),
    ]
    assert source_results((unit.number, unit.first, found) for unit, found in parts) == {
        0: SourceResult(14, "Input/output error", unread=True, last_ns=20),
        2: SourceResult(5, "offset 9: broken", last_ns=40),
    }
    found = counted(*([each] for each in parts))
    assert found.ends == {0: 14}
    assert [found.before(number) for number in (0, 2)] == [0, 14]
    assert found.last == (2 << SOURCE_BITS | 5, 40)
    nothing = part(0, 11, SourceResult(0, "Input/output error", unread=True))
    assert counted([parts[0]], [nothing], [parts[2]]).ends == {0: 10}
    assert counted([parts[0]], [nothing], [parts[2]]).last == (10, 10)


def test_the_sources_of_a_task_count_on_within_it() -> None:
    found = counted(
        [whole(3, 9, skip=7, last_ns=5), whole(4, 0, unread=True), whole(5, 6)], [whole(8, 2, last_ns=8), whole(9, 0)],
        [part(7, 4, SourceResult(1), last=True)], [part(7, 1, SourceResult(3, last_ns=7))], records=100,
    )  # fmt: skip
    own = OwnSources(found)
    for number, others in ((3, -7), (5, 2), (7, 0), (7, 0), (8, 0), (9, 2)):
        own.add(number, others)
    assert own.before == {3: 93, 5: 102, 7: 108, 8: 112, 9: 114}
    assert own.all_before(np.array([9, 1, 3, 9])).tolist() == [114, 0, 93, 114]
    assert found.last == (8 << SOURCE_BITS | 2, 8)
    # An error in a source that one task reads hides nothing of others.
    assert found.ends == {}
    assert counted([part(7, 4, SourceResult(1), last=True)], [part(7, 1, SourceResult(3, last_ns=7))]).last == (
        7 << SOURCE_BITS | 4, 7,
    )  # fmt: skip
    assert counted().last is None


def test_a_task_sends_as_much_for_many_sources_as_for_one() -> None:
    one, many = TaskCounts(0, 1), TaskCounts(0, 1)
    for number in range(10_000):
        many = many.plus(*whole(number, 4, last_ns=number))
    assert len(many.packed()) == len(one.packed()) < 100
    assert (many.added, many.last, many.time_ns) == (40_000, 9_999 << SOURCE_BITS | 4, 9_999)


def test_keys_are_named_where_nothing_else_is_wrong() -> None:
    results = [(0, 1, SourceResult(1, keys=1)), (1, 1, SourceResult(1, "offset 9: broken", keys=1))]
    assert [each.problem for each in source_results(results).values()] == [UNUSED_KEYS, "offset 9: broken"]
