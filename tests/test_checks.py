"""The checks that tests share can fail."""

import pytest

from tests.checks import for_each


def test_a_law_names_every_case_that_breaks_it() -> None:
    @for_each([1, 2, 3, 4])
    def odd(number: int) -> None:
        assert number % 2

    with pytest.raises(ExceptionGroup, match="2 of 4 cases fail\n  in the case: 2\n  in the case: 4\n"):
        odd()


def test_a_law_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError):
        for_each([])
