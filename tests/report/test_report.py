"""The report: its numbers are those of the captures, and its page works everywhere and runs nothing."""

import json
import math
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.report.answers import details, summary
from mqttpub.report.engines.spark import SparkQueries
from mqttpub.report.engines.tables import frames
from mqttpub.report.examples import Example, ExamplePacket, decoding, filter_terms
from mqttpub.report.page import page
from mqttpub.report.question import Answers, Ranking, ReportTables
from mqttpub.report.questions import QUESTIONS
from mqttpub.report.questions.clients import CLIENTS, ClientCounts, DupsOfBin, RankedClients
from mqttpub.report.questions.exchanges import EXCHANGES
from mqttpub.report.questions.findings import FINDINGS, Culprit, Findings
from mqttpub.report.questions.latency import LATENCY, LatencyAnswers
from mqttpub.report.questions.operation.anomalies import ANOMALIES, Anomalies
from mqttpub.report.questions.operation.churn import CHURN, Churn, ClientConnections
from mqttpub.report.questions.operation.fan_out import FAN_OUT
from mqttpub.report.questions.operation.silences import SILENCES, ClientSilences
from mqttpub.report.questions.operation.topic_tree import TOPIC_TREE
from mqttpub.report.questions.outcomes import ENDINGS, Outcomes
from mqttpub.report.questions.topics import TOPICS, TopicCounts
from mqttpub.report.questions.traffic import TRAFFIC, Traffic
from mqttpub.report.questions.volumes import VOLUMES, Volumes
from mqttpub.report.sql import Bins, bins_of
from mqttpub.report.words import time_text
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Connect, Puback, Publish, Suback, Subscribe, Subscription
from mqttpub.spec.properties import PROPERTIES, USER_PROPERTY
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.query import PacketFilter
from mqttpub.traffic.statistics import PERCENTILES
from mqttpub.wire.types import BINARY, PAIR, STRING
from tests.browser import browser as browser
from tests.build.frames import SentSegment, pcap_of
from tests.build.known_captures import Truth, truth, write
from tests.paths import CAPTURES, MORNING
from tests.spark.running import alone as alone
from tests.spark.running import piped, tables
from tests.view.page.test_page import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
US = 1000
"""Nanoseconds of a microsecond."""
NOTHING = Answers(dict.fromkeys(QUESTIONS)).replaced({
    TRAFFIC: Traffic(), EXCHANGES: [], LATENCY: LatencyAnswers(None, [], [], []),
    CLIENTS: RankedClients(Ranking(0, ClientCounts(None), {})),
    CHURN: Churn(Ranking(0, ClientConnections(None), {}), []),
    SILENCES: Ranking(0, ClientSilences(None), {}), ENDINGS: Outcomes([], []),
    TOPICS: Ranking(0, TopicCounts(None), {}), TOPIC_TREE: [], FAN_OUT: [], ANOMALIES: Anomalies(),
    VOLUMES: Volumes({"payload": 0}, []), FINDINGS: Findings(Ranking(0, Culprit(None), {}), []),
})  # fmt: skip
"""The answers about tables without rows; nobody asked for payloads."""


def asked(spark: Any, out: Path) -> Answers:
    """Return all answers on the tables of a folder."""
    return details(SparkQueries(spark), out, summary(SparkQueries(spark), out))


def nearest(values: Sequence[int]) -> list[int]:
    """Return percentiles: the least values that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return [ordered[math.ceil(percent / 100 * len(ordered)) - 1] for percent in PERCENTILES]


# without Spark


@given(st.integers(0, 2**52), st.integers(0, 2**51), st.integers(2, 300))
def test_bins_hold_the_span_and_are_not_many(first: int, length: int, most: int) -> None:
    bins = bins_of(first, first + length, most)
    assert bins is not None
    assert bins.length <= most
    assert bins.begin(bins.first) <= first < bins.begin(bins.first + 1)
    assert bins.begin(bins.first + bins.length - 1) <= first + length < bins.begin(bins.first + bins.length)


def test_a_page_on_nothing_says_so_in_each_section() -> None:
    shares: list[tuple[int, int]] = []
    text = page("nothing", NOTHING, lambda *share: shares.append(share))
    assert shares == [(done, len(QUESTIONS)) for done in range(len(QUESTIONS))]
    for words in (
        "There are no packets.", "No exchange was answered", "No PUBLISH of QoS 1 or 2 was seen",
        "There are no exchanges", "No packet has a Reason Code that means a refusal.", "nothing was found",
        "There are no connections.", "No CONNECT was captured", "No PUBLISH with a known topic was seen.",
        "No PUBLISH with a topic, a time and a known sender was seen.", "so clients have no past.",
    ):  # fmt: skip
        assert words in text
    unjudged = page("x", NOTHING.replaced({FINDINGS: None, VOLUMES: Volumes({}, [])}))
    assert "--lint checks every packet" in unjudged
    assert "another run" not in text


@pytest.mark.parametrize("type", ["PUBLISH", "TYPE 0", "TYPE 15"])
def test_the_filter_of_an_example_is_one(type: str) -> None:
    packet = ExamplePacket(type, None, None, None, None, None)
    example = Example("a.pcap", 7, 0, 1, "client", type, "", "", packet)
    terms = " ".join(filter_terms(example))
    assert PacketFilter.parse(terms)
    assert ("type=" in terms) == (type == "PUBLISH")


def test_a_finding_that_spans_files_is_shown_by_the_packets_of_its_connection() -> None:
    files = [f"{number:02}.pcap" for number in range(12)]
    example = Example("02.pcap", 7, None, 1, "client", None, "", "", None, "01.pcap", "10.0.0.1:1234")
    assert decoding(example, "X-1", files) == (
        "mqttpub decode 01.pcap 02.pcap --absolute-time --filter client=10.0.0.1:1234"
    )
    long = example._replace(began="00.pcap", capture="11.pcap")
    assert [name for name in files if name in decoding(long, "X-1", files)] == files[4:]
    for within in (example._replace(began="02.pcap"), example._replace(client=None), example._replace(began="gone")):
        assert decoding(within, "X-1", files) == "mqttpub lint 02.pcap --select X-1"


def test_a_cell_without_dup_is_paler_than_others_and_still_seen() -> None:
    counts = ClientCounts("x", publishes=9, dups=3)
    course = [DupsOfBin("x", at, publishes=3, dups=at) for at in range(3)]
    found = RankedClients(Ranking(1, counts, {"dups": [counts]}), Bins(1_000_000, 0, 4), course)
    (links,) = CLIENTS.sections
    text = "".join(links.contents(found, NOTHING))
    shown = {
        int(dups): float(opacity[1]) if (opacity := re.search(r'opacity="([\d.]+)"', attributes)) else 1.0
        for attributes, dups in re.findall(r"<path ([^>]*)><title>[^<]* (\d) of 3 with DUP", text)
    }
    assert 0.15 <= shown[0] < shown[1] < shown[2]
    assert "the lightest is 0" in text


def test_the_page_names_the_folder_the_sources_and_the_runs() -> None:
    runs = "2026-02-03T06:00:00+00:00", "2026-02-04T06:00:00+00:00"
    text = page("tables", NOTHING.replaced({TRAFFIC: Traffic(sources=("a.pcap", "b.pcap"), runs=runs)}))
    assert "<h1>MQTT report: tables</h1>" in text
    assert "2 sources, read by 2 runs of mqttpub pipeline, 2026-02-03 to 2026-02-04" in text


# what goes on on the next connection


@pytest.mark.long
@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_message_counts_once_wherever_it_continues(form: str, spark: Any, alone: None, tmp_path: Path) -> None:
    piped(MORNING, out=tmp_path / "out", file_format=form)
    found = asked(spark, tmp_path / "out")
    rows = tables(tmp_path / "out")["exchanges"] if form == "parquet" else []
    assert not rows or sum(row["outcome"] == "unfinished" for row in rows) == 44
    counts = [(row.unfinished, row.superseded, row.continued) for row in found[EXCHANGES]]
    assert tuple(map(sum, zip(*counts, strict=True))) == (5, 9, 39)
    assert [(row.who, row.kind, row.packet_id, row.last_type, row.frame) for row in found[ENDINGS].unended] == [
        ("valve-1", "SUBSCRIBE", 73, "SUBSCRIBE", 3647), ("gate-3", "QoS 1", 119, "PUBLISH", 3648),
        ("gate-3", "QoS 1", 120, "PUBLISH", 3649), ("gate-3", "QoS 1", 121, "PUBLISH", 3650),
        ("meter-2", "QoS 2", 157, "PUBREC", 3651),
    ]  # fmt: skip
    # Superseded are 9 of truck-7.
    assert sum(row.unanswered for row in found[LATENCY].clients) == 4 + 9
    text = page("x", found)
    assert "39 times a connection ended before the last ack" in text
    assert "99.1 %<small>of 1,434 messages" in text
    assert "Unfinished, all of them" in text


@pytest.mark.long
def test_exchanges_without_a_client_identifier_do_not_continue(spark: Any) -> None:
    columns = "client_id, connection, packet_id, outcome, resumed, first_frame"
    rows = [
        (None, "a", 1, "unfinished", False, 1), (None, "b", 1, "complete", True, 2),
        ("", "c", 1, "unfinished", False, 3), ("", "d", 1, "complete", True, 4),
        ("x", "e", 1, "unfinished", False, 5), ("x", "f", 1, "unfinished", True, 6), ("x", "g", 1, "complete", True, 7),
        ("x", "f", 2, "unfinished", False, 8), ("x", "g", 2, "complete", False, 9),
    ]  # fmt: skip
    values = ", ".join(str(row).replace("None", "NULL") for row in rows)
    given = spark.sql(f"""
        SELECT *, 'QoS 1' AS kind, 'client' AS sender, 1 AS qos, 0 AS dups, 1L AS latency_us, '' AS capture,
            timestamp_micros(first_frame) AS begin_time, 0L AS first_pos
        FROM VALUES {values} AS ({columns})
    """)
    (row,) = EXCHANGES.ask(ReportTables(SparkQueries(spark), "", tables={"exchanges": given}))
    assert (row.complete, row.unfinished, row.continued) == (4, 3, 2)


# truth


@pytest.fixture(scope="module")
def known() -> Truth:
    """Generate captures, mid-stream starts, losses and re-deliveries among them."""
    return truth(11, connections=9, messages=120, files=4)


@pytest.fixture
def told(known: Truth, spark: Any, alone: None, tmp_path: Path) -> tuple[Answers, Path]:
    """Ask the tables of these captures, and return the folder too."""
    (tmp_path / "in").mkdir()
    paths = write(known, tmp_path / "in")
    piped(*paths, out=tmp_path / "out", lint=True)
    return asked(spark, tmp_path / "out"), tmp_path / "out"


@pytest.mark.long
def test_the_numbers_are_those_of_the_captures(known: Truth, told: tuple[Answers, Path]) -> None:
    found, out = told
    sizes = [len(each.data) // 2 for each in known.packets]
    span = found[TRAFFIC].totals
    assert (span.packets, span.bytes, span.malformed) == (len(known.packets), sum(sizes), 0)
    times = [each.time // US for each in known.packets]
    assert (span.first, span.last) == (min(times), max(times))
    kinds: Counter[Any] = Counter()
    for row in found[TRAFFIC].kinds:
        kinds[row.type, row.direction] += row.packets
    assert kinds == Counter((each.type, each.sender) for each in known.packets)
    _check_course(known, found)
    _check_exchanges(known, found)
    _check_clients(known, found)
    rows = tables(out)["findings"]
    statements = found[FINDINGS].statements
    assert {(each.severity, each.statement): each.times for each in statements} == Counter(
        (row["severity"], row["statement"] or "") for row in rows
    )
    assert all(each.example for each in statements)


def _check_course(known: Truth, answers: Answers) -> None:
    traffic = answers[TRAFFIC]
    assert traffic.bins
    width = traffic.bins.width
    expected: Counter[Any] = Counter()
    for each in known.packets:
        expected[each.time // US // width, each.type, each.sender] += len(each.data) // 2
    found: Counter[Any] = Counter()
    for row in traffic.course:
        found[row.bin, row.type, row.direction] += row.bytes
    assert found == expected
    assert sum(answers[VOLUMES].purposes.values()) == sum(expected.values())


def _check_exchanges(known: Truth, found: Answers) -> None:
    outcomes: Counter[Any] = Counter()
    latencies: dict[tuple[str, str], list[int]] = {}
    dups: Counter[Any] = Counter()
    for each in known.exchanges:
        key = f"QoS {each.qos}", each.sender
        outcomes[*key, each.outcome] += 1
        dups[key] += each.dups
        if each.outcome == "complete":
            first, last = (known.packets[each.packets[at]].time // US for at in (0, -1))
            latencies.setdefault(key, []).append(last - first)
    for row in found[EXCHANGES]:
        key = row.kind, row.sender or ""
        assert [row.complete, row.unfinished, row.superseded] == [
            outcomes[*key, name] for name in ("complete", "unfinished", "superseded")
        ]
        assert row.dups == dups[key]
        assert (row.answers, row.longest) == (len(latencies[key]), max(latencies[key]))
        assert row.percentiles == nearest(latencies[key])
    assert {(row.kind, row.sender) for row in found[EXCHANGES]} == {key[:2] for key in outcomes}


def _check_clients(known: Truth, found: Answers) -> None:
    messages: Counter[Any] = Counter()
    for each in known.packets:
        if each.type == "PUBLISH" and (first := int(each.data[:2], 16)) & 0x06:
            messages[each.connection, each.sender, "publishes"] += 1
            messages[each.connection, each.sender, "dups"] += bool(first & 0x08)
    clients = found[CLIENTS]
    whole = clients.ranking.total
    assert clients.ranking.number == len({each.connection for each in known.packets})
    for name in ("publishes", "dups"):
        assert getattr(whole, name) == sum(count for key, count in messages.items() if key[2] == name)
    ranked = clients.ranking.top("dups")
    assert ranked
    for row in ranked:
        assert row.who is not None
        if row.who.startswith("client-"):
            number = int(row.who.removeprefix("client-"))
            for side in ("client", "server"):
                for name in ("publishes", "dups"):
                    assert getattr(row, f"{side}_{name}") == messages[number, side, name]
        cells = [each for each in clients.course if each.who == row.who]
        assert sum(each.dups for each in cells) == row.dups
        assert sum(each.publishes for each in cells) == row.publishes


@pytest.mark.long
@pytest.mark.parametrize("name", ["generated", "qos2-mosquitto.pcapng", "every-type-and-property.pcapng"])
def test_the_numbers_are_those_of_decode(name: str, known: Truth, spark: Any, alone: None, tmp_path: Path) -> None:
    path = CAPTURES / name
    if name == "generated":
        (path,) = write(truth(12, connections=5, messages=80), tmp_path)
    piped(path, out=tmp_path / "out")
    found = asked(spark, tmp_path / "out")
    words = [sys.executable, "-m", "mqttpub", "decode", "--stats", "--json", str(path)]
    stats = json.loads(subprocess.run(words, capture_output=True, check=False).stdout)
    totals, purposes, topics = found[TRAFFIC].totals, found[VOLUMES].purposes, found[TOPICS].total
    assert (totals.packets, totals.bytes) == (stats["packets"], stats["bytes"])
    assert {name: count for name, count in purposes.items() if name != "payload"} == stats["overhead"]
    assert purposes["payload"] == stats["payload"]
    expected = {name: stats["aliases"][name] for name in ("used", "saved", "savable")}
    assert {"used": topics.aliased, "saved": topics.saved, "savable": topics.savable} == expected
    for each in stats["exchanges"]:
        if each["outcome"] in ("complete", "refused") and each["kind"] != "acks":
            sides = [row.outcomes[each["outcome"]] for row in found[EXCHANGES] if row.kind == each["kind"]]
            assert sum(sides) == each["count"], each
    refused = {(row.type, row.version, row.code): row.times for row in found[ENDINGS].refused}
    assert refused == {
        (each["type"], each["version"], each["code"]): each["count"]
        for each in stats["reasons"]
        if each["code"] >= 0x80 or (each["type"] == "CONNACK" and each["code"])
    }


@pytest.mark.long
def test_the_bytes_of_properties_are_those_of_the_packets(spark: Any, alone: None, tmp_path: Path) -> None:
    piped(CAPTURES / "every-type-and-property.pcapng", out=tmp_path / "out")
    found = asked(spark, tmp_path / "out")
    expected: Counter[Any] = Counter()
    for row in tables(tmp_path / "out")["packets"]:
        for each in [*(row["properties"] or ()), *(row["will_properties"] or ())]:
            if each["value"] is not None:
                expected[each["id"]] += _written(each)
    sizes = {row.id: row.bytes for row in found[VOLUMES].properties if row.bytes is not None}
    assert sizes == expected
    assert len(sizes) > 20


def _written(each: dict[str, Any]) -> int:
    """Return the bytes of a property as the codec writes it."""
    kind, text = PROPERTIES[each["id"]].type, each["value"]
    value = (each["key"], text) if kind is PAIR else text if kind is STRING else None
    if value is None:
        value = bytes.fromhex(text.removeprefix("hex:")) if kind is BINARY else int(text)
    return 1 + len(kind.write(value))


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        {"file_format": "csv"},
        {"file_format": "json"},
        {"file_format": "orc"},
        {"file_format": "orc", "partition_by": ("type", "hour")},
        {"partition_by": ("type", "date")},
        {"file_format": "csv", "partition_by": ("type", "qos")},
    ],
)
def test_the_format_of_the_tables_makes_no_difference(
    more: dict[str, Any], known: Truth, spark: Any, alone: None, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    paths = write(known, tmp_path / "in")
    piped(*paths, out=tmp_path / "a", lint=True)
    # What looks like a pattern is a name.
    piped(*paths, out=tmp_path / "b[1]{2}*", lint=True, **more)
    expected, found = (frames(spark, tmp_path / name) for name in ("a", "b[1]{2}*"))
    for name, frame in expected.items():
        assert found[name].schema == frame.schema
        rows = sorted(map(repr, frame.collect()))
        assert rows
        assert sorted(map(repr, found[name].collect())) == rows


# hostile text


def hostile(path: Path) -> Path:
    """Write a capture whose names attack whoever shows them."""
    v5 = Version.V5
    steps: list[tuple[Direction, Any]] = []
    fits = HOSTILE.replace("\x1b", "\x7f")
    steps.append((CLIENT, Connect(client_id=fits)))
    steps.append((SERVER, Connack()))
    steps.append((CLIENT, Subscribe(packet_id=1, subscriptions=(Subscription(filter=fits),))))
    steps.append((SERVER, Suback(packet_id=1, reason_codes=(0x87,))))
    for number in range(2, 30):
        user = (Property(USER_PROPERTY.id, (fits, fits)),)
        packet = Publish(topic=f"{fits}{number % 3}", qos=1, packet_id=number, payload=b"x", properties=user)
        steps.append((CLIENT, packet))
        if number % 5 == 0:
            steps.append((CLIENT, packet.replace(dup=True)))
        steps.append((SERVER, Puback(packet_id=number, reason_code=0x97 if number % 7 == 0 else 0)))
    path.write_bytes(pcap_of(SentSegment(0, side, encode(each, v5)) for side, each in steps))
    return path


@pytest.fixture(scope="module")
def attack(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answers, Path]:
    """Ask the tables of a capture that attacks with its names, its own among them."""
    folder = tmp_path_factory.mktemp("attack") / "it's <b>\n$(touch x)"
    folder.mkdir()
    path = hostile(folder / "-x <img src=x onerror=alert(1)>'.pcap")
    piped(path, out=folder / "out", on_spark=False, lint=True)
    return asked(spark, folder / "out"), folder


@pytest.fixture(scope="module")
def attacked(attack: tuple[Answers, Path]) -> Path:
    """Write the page on it."""
    found, folder = attack
    path = folder / "page.html"
    path.write_text(page(HOSTILE, found), encoding="ascii")
    return path


@pytest.mark.long
def test_hostile_names_are_nothing_but_text(attack: tuple[Answers, Path], attacked: Path) -> None:
    text = attacked.read_text(encoding="ascii")
    assert not re.search(r"<(script|img|!--)", text)
    assert "\\x7f" in text
    assert "\x7f" not in text
    assert "&lt;/script&gt;" in text
    assert "&lt;b&gt;" in text
    assert "{{" not in re.sub(r"\{\{script\}\}", "", text)


@pytest.mark.long
def test_the_line_of_an_example_shows_the_packet(attack: tuple[Answers, Path]) -> None:
    found, folder = attack
    shown = 0
    for fault in found[FINDINGS].statements:
        example = fault.example
        assert example
        line = decoding(example, fault.statement)
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "COLUMNS": "200"},
        )  # fmt: skip
        assert done.returncode in (0, 1), (line, done.stderr)
        if example.packet:
            shown += 1
            assert example.time
            assert time_text(example.time) in done.stdout.replace(".000000Z", "Z"), line
    assert shown > 1
    assert not (folder / "x").exists()


# in a browser


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["dark", "light"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_page_in_a_browser(browser: "Browser", attacked: Path, scheme: Any, width: int) -> None:
    complaints: list[str] = []
    requests: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = context.new_page()
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("dialog", lambda dialog: complaints.append(dialog.message))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(attacked.as_uri())
    for each in tab.query_selector_all("summary"):
        each.click()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    visible = [each.is_visible() for each in tab.query_selector_all("figure .wide")]
    assert visible
    assert set(visible) == {width > 700}
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    assert dark == (scheme == "dark")
    hues = tab.evaluate("[...document.querySelectorAll('figure path')].map(each => getComputedStyle(each).fill)")
    assert len(set(hues)) > 4
    assert tab.inner_text("h1").startswith("MQTT report: </script>")
    context.close()
