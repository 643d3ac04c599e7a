"""One table of searches, for --filter and for the page in a browser, so that both read one language."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from mqttpub.cli.decode import views
from mqttpub.codec.tree import Finding
from mqttpub.common.times import Zero
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Pingreq,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from mqttpub.spec.versions import Version
from mqttpub.traffic.context import PacketInContext, TrafficItem
from mqttpub.traffic.events import Event, Remark
from mqttpub.traffic.query import PacketFilter
from mqttpub.wire.cursor import Span
from tests.browser import browser as browser
from tests.build.events import CLIENT, SERVER, Dialog, linted

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

ALIAS = 0x23
LONG = b"x" * 300 + b"needle" + "gr\u00fc\u00dfe".encode()
BIG = b"y" * 70_000


def _events() -> list[Event]:
    """Return two connections with a bit of everything; the number of each event is its row."""
    one = Dialog(1)
    will = Will(topic="status/one", payload=b"gone away")
    one.client(Connect(client_id="sensor-1", username="u", password=b"hunter2", will=will))  # 0
    one.server(Connack())
    subscriptions = (Subscription(filter="plant/+/set", qos=1), Subscription(filter="$SYS/#", qos=0))
    one.client(Subscribe(packet_id=7, subscriptions=subscriptions))  # 2
    one.server(Suback(packet_id=7, reason_codes=(1, 0x87)))
    one.client(Publish(topic="plant/3/state", payload=b'{"on": true, "v": 21.5}', retain=True))  # 4
    one.client(Publish(topic="plant/3/temp", qos=1, packet_id=9, payload=b"21.5", properties=(Property(ALIAS, 5),)))
    one.server(Puback(packet_id=9, reason_code=0x10))  # 6
    one.client(Publish(topic="", payload=b"22.0", properties=(Property(ALIAS, 5),)))
    one.client(bytes.fromhex("38050001746869"))  # 8: DUP with QoS 0, and cut short
    one.client(Publish(topic="$SYS/load", payload=b"\x00\xff\x01"))
    one.client(Publish(topic='odd "topic", with\u202e\\ all', payload=LONG))  # 10
    one.client(Publish(topic="empty")).client(Publish(topic="big", qos=2, packet_id=11, payload=BIG))
    two = Dialog(2, Version.V311)
    two.client(
        Connect(client_id="hmi*(2)"), Publish(topic="plant/4/state", qos=2, packet_id=9, dup=True, payload=b"on")
    )
    two.client(Unsubscribe(packet_id=10, filters=("plant/#",)), Pingreq())  # 15, 16
    two.gap(CLIENT, 1448, "1,448 bytes are missing").gap(SERVER, None, "this is no packet", malformed=True)
    two.remark("TLS begins").closes(CLIENT, "RST")  # 19, 20
    undone = Finding("error", "connection", Span(0, 0), "no PUBREC came", "MQTT5-4.3.3-8", at_fault=SERVER)
    told = Remark(two.ends, two.time, two.record, None, "error: no PUBREC came", undone)  # 21
    return [*one.events, *two.events, told]


KNOWN = list(linted(_events()))
PUBLISHED = [4, 5, 7, 8, 9, 10, 11, 12, 14]
READ = [4, 5, 7, 9, 10, 11, 12, 14]
"""Those of them whose fields can be read."""
CASES: dict[str, list[int]] = {
    "": list(range(len(KNOWN))),
    "type=PUBLISH": PUBLISHED,
    "type=publish,Puback": sorted([*PUBLISHED, 6]),
    "type=gap": [17, 18],
    "type=remark,closed": [19, 20, 21],
    "topic=plant/+/state": [4, 14],
    "topic=plant/#": [2, 4, 5, 7, 14, 15],
    "topic=plant/3/temp": [5, 7],
    "topic=Plant/#": [],
    "topic=plant/3": [],
    "topic=status/one": [0],
    "topic=#": [0, 2, 4, 5, 7, 10, 11, 12, 14, 15],
    "topic=$SYS/#": [2, 9],
    "topic=+/load": [],
    'topic="odd \\"topic\\", with\u202e\\\\ all"': [10],
    "payload=21.5": [4, 5],
    "payload=ON": [],
    "payload=on": [0, 4, 14],
    'payload="\\"on\\": true"': [4],
    "payload=on*21": [4],
    "payload=21*on": [],
    "payload=gone*e": [],
    "payload=needle": [10],
    "payload=gr\u00fc\u00dfe": [10],
    "payload=hex:00ff": [9],
    'payload="hex:ff 01",needle': [9, 10],
    "payload=gone": [0],
    "payload=*": sorted([0, *READ]),
    "payload=yyyy": [12],
    "client=sensor-1 type=CONNECT": [0],
    "client=s*r-?": [],
    "client=hmi*(2) type=CONNECT": [13],
    "client=hmi": [],
    "client=10.0.0.2:50002 id=9": [14],
    "connection=2 !type=CONNECT qos=2": [14],
    "connection=3": [],
    "direction=server": [1, 3, 6, 18],
    "direction=server type=gap": [18],
    "fault=server": [18, 21],
    "fault=server type=remark finding=4.3.3-8": [21],
    "fault=client": [8, 9],
    "id=9": [5, 6, 14],
    "id=0x0a": [15],
    "id=0": [],
    "qos=0": [4, 7, 9, 10, 11],
    "qos=1,2": [5, 12, 14],
    "dup": [14],
    "retain": [4],
    "alias=5": [5, 7],
    "reason=0x10": [6],
    "reason=135": [3],
    "reason=0 direction=server": [1],
    "version=3.1.1 type=PUBLISH": [14],
    "version=mqttv5 type=CONNECT": [0],
    "finding=MQTT5-3.3.1-2": [8],
    "finding=3.3.1-*": [8],
    "finding=[MQTT-3.3.1-2]": [8],
    "severity=error": [8, 18, 21],
    "severity=warning type=gap": [17],
    "finding type=PUBLISH,gap": [8, 9, 17, 18],
    "!finding type=gap": [],
    "record=3": [2, 15],
    "type=PINGREQ,dup,retain": [4, 14, 16],
    "! type=PUBLISH , !connection=1": [index for index in range(len(KNOWN)) if index not in PUBLISHED or index >= 13],
    "!!retain": [4],
}  # fmt: skip
"""Searches, and the rows that they pick."""

WRONG = (
    "type=PUBLSH", "typ=PUBLISH", "retain  typ='x'", "qos=4", "id=1,70000", "id=0xzz", "id=1_0", "id=\u0663",
    "topic=a/#/b",
    "topic=", "payload=", "payload=hex:0f0", 'payload="hex:0\' g"', "version=9", "direction=up", "direction=",
    "fault=me",
    "finding=3.3.1-20", "finding=", "severity=bad", "dup,", ", dup", "dup !", '  topic="a', "client=\U0001f600 qos=9",
    "connection=99999999999999999999", "client=a reason=256", "alias=-1", "record=x\x1b",
)  # fmt: skip
"""What both refuse, in the same words."""

WORDS: dict[str, list[int]] = {
    "21.5": [4, 5],
    "NEEDLE": [10],
    '"on": true': [4],
    '"gone away"': [0],
    "state retain": [4],
    "hunter2": [],
    "sensor-1 22.0": [7],
    "!connection=1 bytes,tls": [17, 19],
    "no such words": [],
    '"dup is 1"': [8],
    "GR\u00dcSSE,gr\u00fc\u00df": [10],
    "connection=1 type=SUBSCRIBE,SUBACK plant": [2],
}
"""Searches with plain words, which only the page has."""


def _picked(query: str) -> list[int]:
    chosen = PacketFilter.parse(query)
    return [index for index, each in enumerate(KNOWN) if _matches(chosen, each)]


def _matches(chosen: PacketFilter, each: TrafficItem) -> bool:
    if isinstance(each, PacketInContext):
        return chosen.matches(*each)
    return chosen.matches(each, client="hmi*(2)")  # what --filter knows of the connection by then


def _refusal(query: str) -> str:
    with pytest.raises(ValueError, match="character") as caught:
        PacketFilter.parse(query)
    return str(caught.value)


def test_the_filter_picks_these_rows() -> None:
    assert {query: _picked(query) for query in CASES} == CASES


@pytest.fixture(scope="module")
def tab(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator["Tab"]:
    """Open the page of the events, in a window that shows all rows."""
    path = tmp_path_factory.mktemp("page") / "searched.html"
    views.page(KNOWN, views.ViewOptions(Zero(), title="searched", path=str(path)))
    context = browser.new_context(viewport={"width": 1400, "height": 1400})
    made = context.new_page()
    complaints: list[str] = []
    made.on("pageerror", lambda error: complaints.append(str(error)))
    made.on("console", lambda message: complaints.append(message.text))
    made.goto(path.as_uri())
    made.wait_for_selector("html[data-ready=true]", state="attached")
    yield made
    context.close()
    assert complaints == []


def _found(tab: "Tab", query: str) -> list[int]:
    """Search, and return the numbers of the rows; Enter searches at once."""
    tab.fill("#search", query)
    tab.press("#search", "Enter")
    assert tab.locator("#complaint").is_hidden(), tab.locator("#complaint").inner_text()
    assert "\u2026" not in tab.inner_text("#tally")
    rows: list[int] = tab.eval_on_selector_all(".row", "all => all.map(each => Number(each.dataset.row))")
    return sorted(rows)


@pytest.mark.slow
@pytest.mark.parametrize("cases", [CASES, WORDS], ids=["terms", "words"])
def test_the_page_picks_these_rows(tab: "Tab", cases: dict[str, list[int]]) -> None:
    assert {query: _found(tab, query) for query in cases} == cases


def _complaints(tab: "Tab", queries: Iterable[str]) -> Iterator[tuple[str, str]]:
    for query in queries:
        tab.fill("#search", query)
        tab.press("#search", "Enter")
        yield query, tab.inner_text("#complaint")
        assert tab.get_attribute("#search", "aria-invalid") == "true"


@pytest.mark.slow
def test_the_page_refuses_what_the_filter_refuses_in_the_same_words(tab: "Tab") -> None:
    assert dict(_complaints(tab, WRONG)) == {query: _refusal(query) for query in WRONG}
    assert _found(tab, "retain") == [4], "a search that is mended is a search again"


@pytest.mark.slow
def test_the_list_shows_the_more_the_wider_it_is(tab: "Tab") -> None:
    """At 1400 pixels all columns of a PUBLISH have room and show what they say; narrow lists keep the payload."""
    assert len(_found(tab, "")) == len(KNOWN)
    columns = {
        "time": "0.004000", "arrow": "\u2192", "caller": "sensor-1", "word": "PUBLISH", "topic": "plant/3/state",
        "preview": '"{"on": true, "v": 21.5}"', "marks": "QoS 0 RETAIN", "size": "41 B",
    }  # fmt: skip
    shown = {name: tab.locator(f"#row-4 .{name}") for name in columns}
    assert {name: each.is_visible() for name, each in shown.items()} == dict.fromkeys(columns, True)
    assert {name: each.inner_text() for name, each in shown.items()} == columns
    edges = [box["x"] for name in columns if (box := shown[name].bounding_box())]
    assert edges == sorted(edges)
    seen = {}
    for width in (1280, 1000, 820, 390):
        tab.set_viewport_size({"width": width, "height": 1400})
        tab.wait_for_selector("#row-4")
        seen[width] = {name for name in columns if tab.locator(f"#row-4 .{name}").is_visible()}
    tab.set_viewport_size({"width": 1400, "height": 1400})
    assert seen[1280] == columns.keys()
    for width in (1000, 820, 390):
        assert columns.keys() - seen[width] <= {"marks", "size", "caller"}
        assert "preview" in seen[width]
    assert "RETAIN" in (tab.get_attribute("#row-4", "aria-label") or "")
