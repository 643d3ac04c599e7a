"""The table of `conn --probe` on a terminal."""

import pytest

from mqttpub.cli.conn.probing import DECLARED_CELLS, LABEL_CELLS, folded, probe_line
from mqttpub.live.probe.result import Agreement, ProbeResult
from mqttpub.view.terminal.cells import measure, text_of

CHARACTERS = ["letters and digits", "punctuation", "slash", "space", "dollar", "plus", "hash", "other scripts", "emoji"]
RESULTS = {
    "a list": ProbeResult("characters", "Client Identifier characters", None, CHARACTERS),
    "a reason": ProbeResult(
        "levels", "Topic levels", 5, 201, agreement=Agreement.TOLERATES_MORE,
        said="the broker disconnected: 0x82 Protocol Error, and said why: too deep",
    ),
}  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", RESULTS)
def test_a_long_line_is_broken_at_words_in_its_column(name: str, width: int) -> None:
    line = probe_line(RESULTS[name])
    rows = folded(line, width)
    assert max(map(measure, rows)) <= max(width, LABEL_CELLS + DECLARED_CELLS + 20)
    texts = [text_of(row) for row in rows]
    assert " ".join(" ".join(texts).split()) == " ".join(text_of(line).split())
    assert {text[: LABEL_CELLS + DECLARED_CELLS].strip() for text in texts[1:]} <= {""}


def test_a_short_line_stays_as_it_is() -> None:
    line = probe_line(ProbeResult("qos", "Maximum QoS", 2, 2))
    assert [text_of(row) for row in folded(line, 80)] == [text_of(line)]
