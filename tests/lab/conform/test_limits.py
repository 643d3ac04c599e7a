"""What is played for limits, and how the bound of one is found."""

import pytest

from mqttpub.lab.conform.limits import Agreement, FoundLimit, highest, limits, limits_by_name
from mqttpub.spec.versions import Version


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 98, 99, 100, 101])
def test_the_highest_number_that_works(limit: int) -> None:
    tried: list[int] = []

    def works(number: int) -> bool:
        tried.append(number)
        return number <= limit

    assert highest(1, 100, works) == (min(limit, 100) or None)
    assert len(tried) == len(set(tried)) <= 10


def test_a_range_of_one_number() -> None:
    assert highest(1, 1, lambda number: True) == 1
    assert highest(1, 1, lambda number: False) is None


@pytest.mark.parametrize("version", Version, ids=str)
def test_each_script_can_be_read(version: Version) -> None:
    for limit in limits(version):
        assert limit.steps(2, min(limit.needs_qos, 1))


@pytest.mark.parametrize(
    ("declared", "seen", "at_least", "is_least", "agreement"),
    [
        (None, 5, False, False, Agreement.NOT_DECLARED),
        (5, 5, False, False, Agreement.AGREES),
        (5, 4, False, False, Agreement.ALLOWS_LESS),
        (5, 4, True, False, Agreement.AGREES),
        (5, 6, True, False, Agreement.TOLERATES_MORE),
        (5, None, False, False, Agreement.ALLOWS_LESS),
        (23, 65535, False, True, Agreement.AGREES),
        (23, 22, False, True, Agreement.ALLOWS_LESS),
        (False, True, False, False, Agreement.TOLERATES_MORE),
        (True, False, False, False, Agreement.ALLOWS_LESS),
    ],
)
def test_agreement(
    declared: int | None, seen: int | None, at_least: bool, is_least: bool, agreement: Agreement
) -> None:
    limit = limits_by_name()["maximum_qos"]
    assert FoundLimit(limit, declared, seen, at_least, is_least).agreement is agreement
