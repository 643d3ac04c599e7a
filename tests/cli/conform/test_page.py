"""The page of verdicts, on a screen and on paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mqttpub.cli.conform.page import page, write_page
from mqttpub.cli.conform.records import PeerVerdicts
from mqttpub.spec.statements import statements
from tests.browser import browser as browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PEERS = 8
PACKETS = [
    {"connection": "1", "direction": "client", "hex": data} for data in ("100c00044d5154540502003c0000", "33" * 300)
]
A4_WIDTH = 1032
"""Pixels between the margins of a sheet."""


def peer(name: str, every: int = 1) -> PeerVerdicts:
    """Return a peer that breaks one of 20 statements, and two of them by the same packets."""
    rows: list[dict[str, Any]] = []
    for number, law in enumerate(each for each in statements() if each.version == "5.0"):
        broken = {"verdict": "broken", "why": "it did otherwise", "cases": ["plain"], "packets": PACKETS}
        open = {"verdict": "not exercised", "why": "nothing asked for it"}
        found = broken if number % 20 == 0 else open if number % 3 == 0 else {"verdict": "kept"}
        if number % every == 0:
            rows.append({"statement": law.id, **found})
    return PeerVerdicts(name, rows)


def test_packets_stand_once_with_names_and_say_what_is_left_out() -> None:
    made = page([peer("one", 20)])
    assert made.count("> CONNECT     10 0c 00 04".replace(">", "&gt;")) == 1
    assert f"PUBLISH     {'33 ' * 200}... 300 bytes" in made
    assert "MQTT5-1.5.4-1, MQTT5-" in made


def test_one_peer_has_its_reasons_and_the_sections_their_titles() -> None:
    made = page([peer("one")])
    assert "<small>nothing asked for it</small>" in made
    assert ">3.3 PUBLISH</th>" in made
    assert "<small>" not in page([peer("one"), peer("two")])


@pytest.mark.parametrize(("width", "media"), [(1400, "screen"), (390, "screen"), (A4_WIDTH, "print")])
def test_nothing_is_cut_and_nothing_hidden(browser: "Browser", width: int, media: Any, tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    write_page(str(file), [peer(f"broker-{number}-of-a-long-name") for number in range(PEERS)])
    context = browser.new_context(viewport={"width": width, "height": 900})
    view = context.new_page()
    view.emulate_media(media=media)
    view.goto(file.as_uri())
    assert view.get_by_text("What is broken").last.is_visible()
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    # On narrow screens the head of a table is for screen readers only.
    parts = "[...document.querySelectorAll('main *')].filter(e => e.clientWidth && !e.closest('thead'))"
    assert view.evaluate(f"{parts}.filter(e => e.scrollWidth > e.clientWidth + 1).length") == 0
    context.close()


def test_it_is_printed_on_a4_from_the_first_sheet_on(browser: "Browser", tmp_path: Path) -> None:
    file = tmp_path / "p.html"
    rows = [{"statement": law.id, "verdict": "kept"} for law in statements() if law.version == "5.0"][:40]
    write_page(str(file), [PeerVerdicts(f"broker-{number}", rows) for number in range(PEERS)])
    context = browser.new_context()
    view = context.new_page()
    view.goto(file.as_uri())
    made = view.pdf(prefer_css_page_size=True)
    context.close()
    # A4 on its side, in points.
    assert made.count(b"/MediaBox [0 0 841") == made.count(b"/Type /Page\n")
    assert made.count(b"/Type /Page\n") <= 4
