"""All tasks know how many records come before a source, whatever the parts in which it was read."""

import json

import numpy as np

from mqttpub.columns.reassemble.state import SOURCE_BITS
from mqttpub.spark.pipeline.job import Job, SourceResult
from mqttpub.spark.pipeline.shuffle.counts import PartResult, SourceCounts, packed_counts, source_results


def counted(*found: PartResult, records: int = 0) -> SourceCounts:
    """Return counts that tasks sent, one for each part."""
    counts = SourceCounts(Job("", "", records=records))
    for each in found:
        counts.add(packed_counts([each]))
    return counts


def test_parts_after_an_error_of_the_system_do_not_count() -> None:
    parts = [
        PartResult(1, 21, 0, SourceResult(10, last_ns=30)),
        PartResult(1, 11, 0, SourceResult(4, "Input/output error", unread=True, last_ns=20)),
        PartResult(1, 1, 0, SourceResult(10, last_ns=10)),
        PartResult(2, 1, 0, SourceResult(5, "offset 9: broken", last_ns=40)),
    ]
    assert source_results([json.dumps(["", [each]]).encode() for each in parts]) == {
        1: SourceResult(14, "Input/output error", unread=True, last_ns=20),
        2: SourceResult(5, "offset 9: broken", last_ns=40),
    }
    found = counted(*parts)
    assert found.ends == {1: 14}
    assert found.before(np.arange(4)).tolist() == [0, 0, 14, 0]
    assert found.last == (2 << SOURCE_BITS | 5, 40)


def test_what_earlier_runs_read_does_not_count_again() -> None:
    found = counted(
        PartResult(3, 8, 7, SourceResult(9, last_ns=5)), PartResult(5, 1, 0, SourceResult(0, "empty")),
        PartResult(4, 1, 0, SourceResult(6)), records=100,
    )  # fmt: skip
    assert found.before(np.array([2, 3, 4, 5])).tolist() == [0, 93, 102, 108]
    assert found.last == (4 << SOURCE_BITS | 6, None)
    assert counted().last is None
    assert counted().before(np.arange(2)).tolist() == [0, 0]


def test_a_source_takes_a_byte_or_two() -> None:
    parts = [PartResult(number, 1, 0, SourceResult(4, last_ns=number)) for number in range(10_000)]
    assert len(packed_counts(parts)) < 20_000
    counts = SourceCounts(Job("", ""))
    counts.add(packed_counts(parts))
    assert counts.before(np.array([9_999])).tolist() == [39_996]
    assert counts.last == (9_999 << SOURCE_BITS | 4, 9_999)
