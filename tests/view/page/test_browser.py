"""The page of captured packets in a browser: light both ways, keys, search, many rows, hostile text."""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from mqttpub.codec.encode import encode
from mqttpub.common.times import duration, seconds
from mqttpub.spec.packets import Pingreq, Puback, Pubcomp, Publish, Pubrec, Pubrel
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Endpoints, GapSeen, Remark
from mqttpub.view.page import page
from mqttpub.view.page.page import PageWriter
from tests.browser import browser as browser
from tests.view.page.test_page import HOSTILE, known, sent
from tests.view.samples import CONNACK, CONNECT, SUBSCRIBE

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.slow

MARKUP = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>"
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
BROKEN_AT = (6, 9)
"""Rows of the small page with findings, counted from 0; the packet in row 6 has two."""
ROWS = 17
MANY = 100_000


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page with a bit of everything."""
    path = tmp_path_factory.mktemp("page") / "small.html"
    with path.open("w", encoding="ascii") as out:
        _small(out)
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page with 100,000 packets, every thousandth of them broken."""
    path = tmp_path_factory.mktemp("page") / "large.html"
    with path.open("w", encoding="ascii") as out:
        page = PageWriter(out, "large")
        packets = [
            sent(encode(Publish(topic=f"plant/{n}/temperature", qos=1, packet_id=n + 1, payload=b"21.5"), Version.V5))
            for n in range(999)
        ]
        packets.append(sent(bytes.fromhex("38050001746869")))
        ends = Endpoints(1, "10.0.0.20:50000", "10.0.0.2:1883")
        for number, packet in enumerate(islice(cycle(packets), MANY)):
            topic = getattr(packet.packet, "topic", None)
            page.add(known(packet, topic=topic, time=10**18 + number * 10**6, ends=ends))
        page.close()
    return path


def _small(out: TextIO) -> None:
    page = PageWriter(out, "small <b>capture</b>")
    ends = [Endpoints(1, "10.0.0.20:50000", "10.0.0.2:1883"), Endpoints(2, "10.0.0.21:50001", "10.0.0.2:1883")]
    moments = iter(range(10**18, 10**18 + 10**9, 1_250_000))

    def put(end: int, direction: Direction, packet: Any) -> None:
        decoded = sent(packet if isinstance(packet, bytes) else encode(packet, Version.V5), direction=direction)
        topic = getattr(decoded.packet, "topic", None)
        page.add(known(decoded, client=["sensor-17", "hmi"][end], topic=topic, time=next(moments), ends=ends[end]))

    put(0, CLIENT, CONNECT)  # 0
    put(0, SERVER, CONNACK)
    put(1, CLIENT, SUBSCRIBE)  # 2
    put(0, CLIENT, Publish(topic="plant/3/state", qos=2, packet_id=9, payload=b'{"on":true,"v":1.0}'))  # 3
    put(1, CLIENT, Publish(topic="plant/4/temperature", qos=1, packet_id=9, payload=bytes(range(200))))
    put(0, SERVER, Pubrec(packet_id=9))  # 5
    put(0, CLIENT, bytes.fromhex("38050001746869"))  # 6
    put(0, CLIENT, Pubrel(packet_id=9))
    put(0, SERVER, Pubcomp(packet_id=9))  # 8
    put(0, CLIENT, Publish(topic=HOSTILE, payload=MARKUP.encode()))  # 9
    put(1, SERVER, Puback(packet_id=9))
    page.add(GapSeen(ends[0], next(moments), 1, 9, CLIENT, 1448, b"", "1,448 bytes are missing", False))  # 11
    page.add(Remark(ends[0], next(moments), 1, None, HOSTILE))
    page.add(Closed(ends[0], next(moments), 1, CLIENT, "FIN"))  # 13
    put(1, CLIENT, Publish(topic="plant/5/blob", payload=bytes(5000)))
    put(1, CLIENT, Pingreq())  # 15
    put(1, SERVER, bytes.fromhex("d000"))
    page.close()


Open = Callable[..., "Tab"]


@pytest.fixture(scope="module")
def used(browser: "Browser") -> "Tab":
    """Open a tab that tests use in turn: one that is new takes three times as long."""
    return browser.new_page()


@pytest.fixture
def show(browser: "Browser", used: "Tab", small: Path) -> Iterator[Open]:
    """Open pages, and see afterwards that they had no error and asked for nothing."""
    complaints: list[str] = []
    asked: list[str] = []
    opened: list[Tab] = []
    heard: dict[Any, Callable[..., None]] = {
        "console": lambda message: complaints.append(message.text),
        "pageerror": lambda error: complaints.append(str(error)),
        "dialog": lambda dialog: complaints.append(dialog.message),
        "request": lambda request: asked.append(request.url),
    }

    def show(path: Path = small, width: int = 1440, height: int = 900, scheme: Any = "dark", **options: Any) -> "Tab":
        tab = browser.new_context(**options).new_page() if opened or options else used
        opened.append(tab)
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=scheme)
        tab.mouse.move(0, 0)
        for event, listener in heard.items():
            tab.on(event, listener)
        tab.set_default_timeout(10_000)
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=true]", state="attached")
        return tab

    yield show
    for tab in opened:
        if tab is used:
            for event, listener in heard.items():
                tab.remove_listener(event, listener)
            tab.goto("about:blank")
        else:
            tab.context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in asked if url.startswith("file:")]) == len(opened)


def until(tab: "Tab", condition: str) -> None:
    """Wait for a condition; the page's policy forbids the browser to evaluate it again and again by itself."""
    for _ in range(400):
        if tab.evaluate(condition):
            return
        tab.wait_for_timeout(25)
    raise AssertionError(f"this did not come about: {condition}")


def lit(tab: "Tab", kind: str = "byte", light: str = "lit") -> list[int]:
    """Return the numbers of what is lit: bytes, fields or bits."""
    found: list[int] = tab.eval_on_selector_all(
        f".{kind}.{light}[data-{kind}]", f"all => all.map(each => Number(each.dataset.{kind}))"
    )
    return found


def bits(tab: "Tab") -> str:
    """Return the eight bits, lit ones as 1."""
    shown: str = tab.eval_on_selector_all(
        ".bit", "all => all.map(each => each.classList.contains('lit') ? '1' : '0').join('')"
    )
    return shown


def labels(tab: "Tab") -> list[str]:
    """Return the labels of the lit fields."""
    return [each.strip() for each in tab.locator(".field.lit .label").all_inner_texts()]


def pick(tab: "Tab", row: int) -> None:
    """Choose a row."""
    tab.click(f"#row-{row}")
    until(tab, f"document.querySelector('.origin').textContent.includes('no. {row + 1}')")


def chosen(tab: "Tab") -> list[int]:
    """Return the row that is chosen, if it is painted."""
    return [int(each) - 1 for each in tab.locator(".chosen .number").all_inner_texts()]


def find(tab: "Tab", query: str) -> list[int]:
    """Search, and return the numbers of the rows in sight."""
    tab.fill("#search", query)
    until(tab, "document.getElementById('list').getAttribute('aria-busy') === 'false'")
    rows: list[int] = tab.eval_on_selector_all(".row", "all => all.map(each => Number(each.dataset.row))")
    return sorted(rows)


def heading(tab: "Tab") -> str:
    """Return the word above the chosen packet."""
    tab.wait_for_timeout(60)
    return tab.inner_text("#detail h2").split()[-1]


# The light, both ways


def test_pointing_at_a_byte_lights_its_field(show: Open) -> None:
    tab = show()
    pick(tab, 3)
    tab.hover('.byte[data-byte="6"]')
    assert labels(tab) == ["Topic Name"]
    assert lit(tab) == list(range(2, 17))
    tab.hover('.byte[data-byte="0"]')
    assert labels(tab) == ["Fixed header", "Packet type", "DUP", "QoS", "RETAIN"]
    tab.hover("h1")
    assert lit(tab) == []
    assert lit(tab, "field") == []


def test_pointing_at_a_field_lights_its_bytes_and_bits(show: Open) -> None:
    tab = show()
    pick(tab, 3)
    for label, places, shown in (("QoS", [0], "00000110"), ("Packet Identifier", [17, 18], "00000000")):
        tab.locator(".field", has_text=label).first.hover()
        assert lit(tab) == places
        assert bits(tab) == shown
    tab.hover(".bit >> nth=6")  # still the byte at 17, which has no bit fields
    assert labels(tab) == ["Packet Identifier"]


def test_pointing_at_a_bit_lights_its_field(show: Open) -> None:
    tab = show()
    pick(tab, 3)
    tab.hover(".bit >> nth=5")
    assert labels(tab) == ["QoS"]
    assert bits(tab) == "00000110"
    assert lit(tab) == [0]


def test_a_length_faintly_highlights_the_fields_it_governs(show: Open) -> None:
    tab = show()
    pick(tab, 2)
    tab.locator(".field", has_text="Property Length").hover()
    assert lit(tab) == [4]
    assert lit(tab, light="near") == [5, 6, 7]


def test_focus_lights_as_the_pointer_does_and_tab_walks_the_fields(show: Open) -> None:
    tab = show()
    pick(tab, 3)
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.dataset.byte") == "0"
    for key, place in (("ArrowRight", 1), ("ArrowDown", 17), ("Home", 16), ("End", 31), ("ArrowUp", 15)):
        tab.keyboard.press(key)
        assert tab.evaluate("document.activeElement.dataset.byte") == str(place)
    assert labels(tab) == ["Topic Name"]
    walked = []
    for _ in range(8):
        tab.keyboard.press("Tab")
        walked.append(labels(tab)[0])
    assert walked[:6] == ["Fixed header", "Packet type", "DUP", "QoS", "RETAIN", "Remaining Length"]
    assert lit(tab) == [17, 18]
    tab.hover('.byte[data-byte="1"]')
    assert labels(tab) == ["Remaining Length"]
    tab.hover("h1")
    assert labels(tab) == ["Packet Identifier"], "what has the focus lights up again"


def test_a_finding_lights_its_bits_or_bytes(show: Open) -> None:
    tab = show()
    pick(tab, BROKEN_AT[0])
    tab.hover(".flaw-card >> nth=0")
    assert (lit(tab), bits(tab), labels(tab)) == ([0], "00001000", ["DUP \u2716"])
    tab.hover(".flaw-card >> nth=1")
    assert (lit(tab), labels(tab)) == ([5], ["Property Length \u2716"])
    assert tab.locator(".byte.flaw.s3").count() == 2


# Keys


def test_keys_move_through_the_list(show: Open) -> None:
    tab = show()
    for key, place in (("j", 1), ("ArrowDown", 2), ("k", 1), ("ArrowUp", 0), ("End", ROWS - 1), ("Home", 0), ("k", 0)):
        tab.keyboard.press(key)
        assert chosen(tab) == [place]
    tab.keyboard.press("j")
    assert heading(tab) == "CONNACK"
    active = tab.evaluate("document.getElementById('list').getAttribute('aria-activedescendant')")
    assert tab.get_attribute(f"#{active}", "aria-selected") == "true"


def test_n_and_p_go_from_finding_to_finding(show: Open) -> None:
    tab = show()
    first, second = BROKEN_AT
    walked = []
    for key in "nnnnnppp":
        tab.keyboard.press(key)
        message = tab.evaluate("document.activeElement.querySelector('.message').textContent")
        walked.append((chosen(tab)[0], message.split(",")[0]))
    dup, short = (first, "DUP is 1"), (first, "Property Length 104")
    assert walked[:2] == [dup, short]
    assert walked[2][0] == second
    assert walked[3] == (11, "1")
    assert walked[4:] == [dup, (11, "1"), walked[2], short], "around the end and back"


def test_slash_searches_and_escape_goes_back(show: Open) -> None:
    tab = show()
    tab.keyboard.press("/")
    tab.keyboard.type("jjj")
    assert tab.input_value("#search") == "jjj", "letters are letters while one types"
    tab.keyboard.press("Escape")
    assert tab.input_value("#search") == ""
    assert tab.evaluate("document.activeElement.id") == "list"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.dataset.byte") == "0"
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.id") == "list"


def test_the_question_mark_opens_the_help(show: Open) -> None:
    tab = show()
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()
    tab.keyboard.press("j")
    assert chosen(tab) == [0], "the list keeps still below the help"
    tab.keyboard.press("Escape")
    assert not tab.locator("#help").is_visible()


def test_focus_can_be_seen(show: Open) -> None:
    tab = show()
    for _ in range(12):
        tab.keyboard.press("Tab")
        style = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"


# Search


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("type=publish", [3, 4, 6, 9, 14]), ("topic=plant/+/state", [3]), ("temp", [2, 4]),
        ("client=hmi", [2, 4, 10, 14, 15, 16]), ("connection=2 type=puback", [10]), ("payload=true", [3]),
        ("id=9 direction=server", [5, 8, 10]), ("severity=error", [6]), ("finding", [6, 9, 11]),
        ("payload=hex:c5c6c7", [4]), ('"dup is 1"', [6]), ("finding=3.3.1-2", [6]), ("no such words", []),
        ("type=gap", [11]), ("missing", [11]), ("<script>", [9, 12]),
    ],
)  # fmt: skip
def test_the_search_finds_the_rows_it_announces(show: Open, query: str, rows: list[int]) -> None:
    tab = show()
    assert find(tab, query) == rows
    assert tab.locator("#nothing").is_visible() == (rows == [])
    assert tab.inner_text("#tally").startswith(f"{len(rows)} of {ROWS} rows")


def test_choices_write_into_the_search(show: Open) -> None:
    tab = show()
    tab.select_option("#types", "PUBACK")
    tab.select_option("#connections", "2")
    assert tab.input_value("#search") == "type=PUBACK connection=2"
    assert chosen(tab) == []
    tab.keyboard.press("Escape")
    tab.click("#verdicts button >> nth=0")
    assert tab.input_value("#search") == "severity=error"
    assert tab.get_attribute("#verdicts button >> nth=0", "aria-pressed") == "true"
    tab.click("#verdicts button >> nth=0")
    assert tab.input_value("#search") == ""


# The other views


def test_the_ladder_shows_the_connection_and_the_exchange(show: Open) -> None:
    tab = show()
    pick(tab, 5)
    assert [each.split()[1] for each in tab.locator(".leg").all_inner_texts()] == [
        "PUBLISH", "PUBREC", "PUBREL", "PUBCOMP",
    ]  # fmt: skip
    tab.keyboard.press("2")
    rungs = tab.eval_on_selector_all(".rung", "all => all.map(each => Number(each.dataset.row))")
    assert rungs == [0, 1, 3, 5, 6, 7, 8, 9, 11, 12, 13]
    kin = tab.eval_on_selector_all(".rung.kin", "all => all.map(each => Number(each.dataset.row))")
    assert kin == [3, 5, 7, 8]
    assert "sensor-17" in tab.inner_text("#ends")
    tab.select_option("#connections", "2")
    assert "hmi" in tab.inner_text("#ends")
    assert tab.locator(".rung").count() == 6
    tab.keyboard.press("1")
    assert tab.locator(".row").count() == ROWS


def test_findings_are_gathered_by_statement(show: Open) -> None:
    tab = show()
    tab.keyboard.press("3")
    assert tab.locator(".group").count() == 4
    assert "MQTT5-3.3.1-2" in tab.inner_text(".group >> nth=0")
    tab.locator(".group", has_text="MQTT5-3.3.1-2").get_by_role("button", name="Show its packet").click()
    assert tab.input_value("#search") == "finding=MQTT5-3.3.1-2"
    assert tab.locator(".row").count() == 1


def test_a_link_leads_to_a_packet(show: Open, small: Path) -> None:
    tab = show()
    tab.evaluate("location.hash = '#10'")
    until(tab, "document.querySelector('.origin').textContent.includes('no. 10')")
    assert chosen(tab) == [9]


# Hostile text


def test_hostile_text_stays_text(show: Open) -> None:
    tab = show()
    before = tab.evaluate("document.querySelectorAll('img, iframe, b:not(.end b)').length")
    pick(tab, 9)
    shown = f'{MARKUP}{{{{script}}}}\\u202e\\x1b[31m\\"\\\\'
    assert f'"{shown}"' in tab.locator(".field", has_text="Topic Name").inner_text()
    assert f'"{MARKUP}"' in tab.locator(".field", has_text="Payload").inner_text()
    assert tab.inner_text("h1") == "small <b>capture</b>"
    assert tab.evaluate("document.querySelectorAll('img, iframe, b:not(.end b)').length") == before == 0
    assert tab.evaluate("document.querySelectorAll('script:not([type])').length") == 1
    everything = tab.evaluate("document.body.textContent")
    assert "\u202e" not in everything
    assert "\x1b" not in everything


def test_the_policy_stops_scripts_that_get_in(browser: "Browser", small: Path, tmp_path: Path) -> None:
    path = tmp_path / "tampered.html"
    path.write_text(small.read_text().replace("</body>", "<script>window.got = 1</script></body>"))
    tab = browser.new_page()
    refusals: list[str] = []
    tab.on("console", lambda message: refusals.append(message.text))
    tab.goto(path.as_uri())
    assert tab.evaluate("window.got") is None
    assert "Content Security Policy" in "".join(refusals)
    tab.close()


def test_secrets_are_asterisks(show: Open) -> None:
    tab = show()
    pick(tab, 0)
    assert "*******" in tab.locator(".field", has_text="Password").last.inner_text()
    assert tab.locator(".byte.masked").count() == 10
    assert set(tab.locator(".byte.masked").all_inner_texts()) == {"**"}


# Much


def test_json_keeps_its_tokens_and_text_its_bytes(show: Open) -> None:
    tab = show()
    pick(tab, 3)
    assert tab.locator(".content.block").inner_text() == '{\n  "on": true,\n  "v": 1.0\n}'
    pick(tab, 4)
    assert "binary, 200 bytes" in tab.inner_text(".tree")


def test_a_long_packet_is_shown_in_parts(show: Open) -> None:
    tab = show()
    pick(tab, 14)
    assert tab.locator(".byte[data-byte]").count() == 1024
    tab.get_by_role("button", name="Show 3,994 more of 5,018 bytes").click()
    assert tab.locator(".byte[data-byte]").count() == 5018
    assert not tab.get_by_role("button", name="more of").is_visible()


def test_100_000_packets_do_not_freeze_the_page(show: Open, large: Path) -> None:
    assert large.stat().st_size < 40_000_000
    tab = show(large)
    assert tab.evaluate("performance.now()") < 15_000  # generous: the machine may be busy
    assert tab.inner_text("#tally") == "100,000 packets on 1 connection"
    counts = []
    for part in (0, 0.25, 0.5, 0.999, 1):
        tab.evaluate(
            "part => { const list = document.getElementById('list'); list.scrollTop = part * list.scrollHeight }", part
        )
        tab.wait_for_timeout(60)
        counts.append(tab.locator(".row").count())
    assert max(counts) < 80
    assert tab.evaluate("document.querySelectorAll('*').length") < 3000
    assert tab.locator(f"#row-{MANY - 1}").is_visible()
    tab.keyboard.press("p")
    assert chosen(tab) == [MANY - 1]
    assert find(tab, "type=publish topic=plant/998/temperature severity=error") == []
    assert find(tab, "severity=error")[-1] == MANY - 1  # the chosen packet matches, so the list goes to it
    tab.keyboard.press("Escape")
    tab.click(f"#row-{MANY - 2}")
    assert chosen(tab) == [MANY - 2]
    assert find(tab, "severity=error")[0] == 999  # the chosen packet does not match: the list begins at its top
    assert tab.inner_text("#tally") == "100 of 100,000 rows"
    tab.fill("#search", "")
    tab.keyboard.press("Enter")
    tab.keyboard.press("2")
    assert tab.locator(".rung").count() < 60


def test_lists_taller_than_a_browser_allows_can_be_seen_to_their_end(
    browser: "Browser", large: Path, tmp_path: Path
) -> None:
    path = tmp_path / "tall.html"
    text = large.read_text().replace("TALLEST = 8_000_000", "TALLEST = 400_000")
    path.write_text(text.replace("Content-Security-Policy", "nothing"))
    tab = browser.new_page(viewport={"width": 1200, "height": 800})
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready=true]", state="attached")
    assert tab.evaluate("document.querySelector('.space').offsetHeight") == 400_000
    for key, row in (("End", MANY - 1), ("k", MANY - 2), ("Home", 0), ("j", 1)):
        tab.keyboard.press(key)
        tab.wait_for_timeout(60)
        assert chosen(tab) == [row]
        box = tab.locator(f"#row-{row}").bounding_box()
        assert box is not None
        assert 90 < box["y"] < 800
    tab.close()


def test_a_truncated_file_shows_the_rows_it_has(browser: "Browser", small: Path, tmp_path: Path) -> None:
    whole = small.read_text()
    path = tmp_path / "cut.html"
    errors: list[str] = []
    cut = whole.index('<script type="text/plain" class="block">')
    for stop in (cut, cut + 200):
        path.write_text(whole[:stop])
        tab = browser.new_page()
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=true]", state="attached")
        assert "the file ends early" in tab.inner_text("#tally")
        assert errors == []
        tab.close()


def test_the_page_says_what_it_left_out_and_how_to_narrow_it(show: Open, tmp_path: Path) -> None:
    path = tmp_path / "part.html"
    ends = Endpoints(1, "10.0.0.20:50000", "10.0.0.2:1883")
    with path.open("w", encoding="ascii") as out:
        page = PageWriter(out, "part", most=5)
        for _ in range(8):
            page.add(known(sent(bytes.fromhex("38050001746869"))))
        page.add(GapSeen(ends, 1, 1, 9, CLIENT, 1448, b"", "1,448 bytes are missing", False))
        page.close()
    tab = show(path)
    assert tab.inner_text("#tally").startswith("5 packets")
    note = tab.inner_text("#left-out")
    assert note.startswith("This page ends after 5 rows; the capture has 3 more packets and 1 other row, with ")
    assert "6 errors" in note
    assert "1 warning" in note
    assert "--filter" in note
    assert "--follow" in note
    assert show().locator("#left-out").is_hidden()


def test_blocks_that_memory_has_no_room_for_are_unpacked_again(browser: "Browser", large: Path, tmp_path: Path) -> None:
    path = tmp_path / "crowded.html"
    text = large.read_text().replace("MOST_HELD = 512 << 20", "MOST_HELD = 1 << 20")
    path.write_text(text.replace("Content-Security-Policy", "nothing"))
    with closing(browser.new_page(viewport={"width": 1200, "height": 800})) as tab:
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=true]", state="attached")
        for query, count in (("payload=21.5", 99_900), ("plant/998/temperature", 100), ("21.5", 99_900)):
            find(tab, query)
            assert tab.inner_text("#tally") == f"{count:,} of 100,000 rows"
        find(tab, "")
        tab.keyboard.press("Enter")
        tab.keyboard.press("End")
        until(tab, f"document.querySelector('.origin').textContent.includes('no. {MANY:,}')")
        until(tab, f"document.querySelector('#row-{MANY - 2} .preview').textContent === '\"21.5\"'")


# Looks


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_page_follows_the_system_and_the_button(show: Open, scheme: str) -> None:
    tab = show(scheme=scheme)

    def ground() -> int:
        colour: str = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(each) for each in colour[4:-1].split(","))

    dark = scheme == "dark"
    assert (ground() < 200) == dark
    tab.click("#theme")
    assert (ground() < 200) != dark
    tab.emulate_media(color_scheme="light" if dark else "dark")
    assert (ground() < 200) != dark


@pytest.mark.parametrize("width", [320, 390, 820])
def test_a_narrow_screen_has_no_sideways_scroll(show: Open, width: int) -> None:
    tab = show(width=width, height=800, has_touch=True)

    def fits() -> bool:
        wide: int = tab.evaluate(
            "Math.max(...['#detail', '#list', '#groups', 'html'].map(each => {"
            " const box = document.querySelector(each); return box.scrollWidth - box.clientWidth }))"
        )
        return wide <= 0

    assert fits()
    for row in (0, 6, 9):
        tab.tap(f"#row-{row}")
        tab.wait_for_timeout(60)
        assert tab.locator("#detail h2").is_visible()
        assert fits()
        tab.tap('.byte[data-byte="1"]')
        assert lit(tab)[:1] == [1]
        tab.tap(".back")
        assert tab.locator("#list").is_visible()
    for name in ("ladder", "findings"):
        tab.tap(f"#tab-{name}")
        assert fits()


def test_still_motion_is_honoured(show: Open) -> None:
    tab = show(reduced_motion="reduce")
    assert tab.evaluate("getComputedStyle(document.querySelector('.icon')).transitionDuration") == "0s"


def test_roles_and_names_are_there(show: Open) -> None:
    tab = show()
    pick(tab, 6)
    for role, name in (
        ("listbox", "Packets"), ("tab", "Ladder"), ("tree", "Fields"), ("grid", "Bytes"),
        ("searchbox", "Search packets"), ("combobox", "Packet type"), ("combobox", "Connection"),
        ("button", "Help and keys"),
    ):  # fmt: skip
        assert tab.get_by_role(role, name=name, exact=True).count() == 1, role  # type: ignore[arg-type]
    label = tab.get_attribute("#row-6", "aria-label") or ""
    assert label.startswith("7: PUBLISH")
    assert "client to server, sensor-17, error: DUP is 1" in label
    assert tab.locator("#row-6 .badge").inner_text() == "\u2716 2", "a sign and a count, not a colour alone"
    assert tab.get_attribute('.byte[data-byte="0"]', "aria-label") == "38, Fixed header, error"


def test_times_are_those_of_the_terminal(browser: "Browser") -> None:
    chance = Random(15)
    edges = [digits * 10**power + more for digits in (1, 9995, 12_345) for power in range(9) for more in (-1, 0, 499)]
    drawn = [chance.randrange(10 ** chance.randrange(1, 15)) for _ in range(500)]
    values = [*edges, *(-each for each in edges), *drawn]
    script = Path(page.__file__).with_name("assets").joinpath("text.js").read_text()
    code = f"(values) => {{ {script}\nreturn values.map((each) => [seconds(each), lasting(each)]); }}"
    with closing(browser.new_page()) as tab:
        shown = tab.evaluate(code, values)
    assert shown == [[seconds(each), duration(each)] for each in values]
