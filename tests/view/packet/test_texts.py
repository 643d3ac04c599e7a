"""Texts that are remembered, up to a number of characters."""

from mqttpub.view.packet.texts import KEY, KnownTexts


def test_what_is_kept_has_a_bound() -> None:
    known: KnownTexts[str] = KnownTexts(1000)
    for number in range(500):
        known.keep(number, "x" * (number % 90), number % 90)
        assert known[number] == "x" * (number % 90)
        assert sum(len(text) + KEY for text in known.values()) <= 1000
    known.keep("long", "x" * 1000, 1000)
    assert "long" not in known


def test_nothing_is_left_after_it_was_cleared() -> None:
    known: KnownTexts[str] = KnownTexts(1000)
    known.keep(1, "x" * 900, 900)
    known.clear()
    known.keep(2, "x" * 900, 900)
    assert known == {2: "x" * 900}
