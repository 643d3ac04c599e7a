"""The table of limits on a terminal."""

from typing import Any

import pytest

from mqttpub.cli.conform.limits import DECLARED_CELLS, LABEL_CELLS, limit_line, limit_lines
from mqttpub.view.terminal.cells import measure, text_of

CHARACTERS = ["letters and digits", "punctuation", "slash", "space", "dollar", "plus", "hash", "other scripts", "emoji"]
ROWS: dict[str, dict[str, Any]] = {
    "a list": {"limit": "client_id_characters", "declared": None, "seen": CHARACTERS, "agreement": "not declared"},
    "a reason": {
        "limit": "topic_alias_maximum", "declared": 5, "seen": 201, "agreement": "tolerates more",
        "why": "DISCONNECT 0x94 Topic Alias invalid, and said why: more than the table of this client has",
    },
}  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ROWS)
def test_a_long_line_is_broken_at_words_in_its_column(name: str, width: int) -> None:
    line = limit_line(ROWS[name])
    _, _, *rows = limit_lines([ROWS[name]], width)
    assert max(map(measure, rows)) <= max(width, LABEL_CELLS + DECLARED_CELLS + 20)
    texts = [text_of(row) for row in rows]
    assert " ".join(" ".join(texts).split()) == " ".join(text_of(line).split())
    assert {text[: LABEL_CELLS + DECLARED_CELLS].strip() for text in texts[1:]} <= {""}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"limit": "maximum_qos", "declared": 1, "seen": 1}, "Maximum QoS 1 1"),
        ({"limit": "maximum_packet_size", "declared": None, "seen": 4096, "at_least": True},
         "Maximum Packet Size at least 4,096 bytes"),
        ({"limit": "session_expiry_interval", "declared": 0xFFFFFFFF, "seen": 3600, "agreement": "allows less"},
         "Session Expiry Interval never expires 3,600 s allows less"),
        ({"limit": "session_kept", "declared": None, "seen": False, "why": "no \x1b[1mPUBLISH"},
         r"Session after the connection no (no \x1b[1mPUBLISH)"),
        ({"limit": "topic_levels", "declared": None, "seen": 7, "why": "closed"}, "Topic levels 7 (more: closed)"),
        ({"limit": "receive_maximum", "why": "the peer is gone"}, "Receive Maximum - (the peer is gone)"),
    ],
)  # fmt: skip
def test_values_in_words(row: dict[str, Any], shown: str) -> None:
    assert " ".join(text_of(limit_line(row)).split()) == shown
    assert len(list(limit_lines([row], None))) == 3
