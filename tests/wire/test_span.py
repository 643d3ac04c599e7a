"""Runs of bytes."""

from mqttpub.wire.span import Span


def test_length_is_what_lies_between() -> None:
    assert Span(2, 11).length == 9
    assert Span(4, 4).length == 0


def test_shifted_keeps_the_length() -> None:
    assert Span(2, 11).shifted(3) == Span(5, 14)
    assert Span(2, 11).shifted(-2) == Span(0, 9)


def test_a_span_is_its_two_offsets() -> None:
    start, stop = Span(2, 11)
    assert (start, stop) == (2, 11) == Span(2, 11)
