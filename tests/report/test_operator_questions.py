"""What operators ask: the answers are those that plain Python finds in everything that was said."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from mqttpub.report.answers import details, summary
from mqttpub.report.engines.spark import SparkQueries
from mqttpub.report.page import page
from mqttpub.report.question import Answers, ReportTables, record
from mqttpub.report.questions.comparison import COMPARISON
from mqttpub.report.questions.operation.anomalies import ANOMALIES
from mqttpub.report.questions.operation.churn import CHURN
from mqttpub.report.questions.operation.fan_out import FAN_OUT, OF_ALL, OF_CLASS, OF_TOPIC
from mqttpub.report.questions.operation.silences import SILENCES
from mqttpub.report.questions.operation.topic_tree import DEPTH, TOPIC_TREE, WIDTH, TopicLevel
from mqttpub.report.questions.traffic import TRAFFIC
from mqttpub.report.terminal import show_summary
from mqttpub.spark.pipeline import run as pipeline
from mqttpub.spec.packets import Connack, Connect, Disconnect, Puback, Publish
from mqttpub.spec.properties import SERVER_KEEP_ALIVE
from tests.build.operations import TAKEN_OVER, Afternoon, KnownConnection
from tests.build.story import CLIENT, SERVER, Said
from tests.spark.running import piped

US = 1000
"""Nanoseconds of a microsecond."""
HOUR_US = 3_600_000_000
THIS, OTHER = Afternoon(1), Afternoon(2, devices=7, first=2, hours=1)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write the tables of two afternoons, one of them in JSON."""
    folder = tmp_path_factory.mktemp("afternoons")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "session", lambda settings: nullcontext())
        for name, known, form in (("this", THIS, "parquet"), ("other", OTHER, "json")):
            (folder / f"{name}.pcap").write_bytes(known.capture())
            piped(folder / f"{name}.pcap", out=folder / name, lint=True, file_format=form)
    return folder / "this", folder / "other"


@pytest.fixture(scope="module")
def found(spark: Any, folders: tuple[Path, Path]) -> Answers:
    """Ask the tables of both."""
    return summary(SparkQueries(spark), *folders)


def packets(known: Afternoon) -> Iterator[tuple[KnownConnection, Said]]:
    """Yield all packets in the order of time."""
    every = ((each, said) for each in known.connections for said in each.said)
    yield from sorted(every, key=lambda pair: pair[1].time_ns)


# connections


def close_us(connection: KnownConnection) -> int | None:
    """Return when the connection was closed first; None if it was not."""
    return min((time for time, _, _ in connection.closings), default=0) // US or None


def code(connection: KnownConnection) -> int:
    """Return the Reason Code of CONNACK."""
    return next(said.packet.reason_code for said in connection.said if isinstance(said.packet, Connack))


def goodbye(connection: KnownConnection) -> Said | None:
    """Return the first DISCONNECT."""
    return next((said for said in connection.said if isinstance(said.packet, Disconnect)), None)


def taken(known: Afternoon) -> set[int]:
    """Return the numbers of the connections that were taken over."""
    found = set()
    last: dict[str, KnownConnection] = {}
    for each in sorted(known.connections, key=lambda one: one.said[0].time_ns):
        if code(each):
            continue
        before, last[each.client_id] = last.get(each.client_id), each
        if before is None:
            continue
        closed = [time for time, _, _ in before.closings]
        if (not closed and not goodbye(before)) or (closed and each.said[0].time_ns <= min(closed)):
            found.add(before.number)
    for each in known.connections:
        said = goodbye(each)
        if said and said.side == SERVER and said.packet.reason_code == TAKEN_OVER:  # type: ignore[attr-defined]
            found.add(each.number)
    return found


def test_connections_by_client(found: Answers) -> None:
    over = taken(THIS)
    assert len(over) > 6
    lists: dict[str, list[KnownConnection]] = defaultdict(list)
    for each in THIS.connections:
        lists[each.client_id].append(each)
    ranked = {row.who: row for row in found[CHURN].clients.top("connections")}
    assert list(ranked)[:3] == ["flapper", "walker", "intruder"]
    assert len(ranked) == min(20, len(lists))
    for who, row in ranked.items():
        mine = lists[who or ""]
        hours = Counter(each.said[0].time_ns // US // HOUR_US for each in mine)
        closed = [each for each in mine if goodbye(each) or each.closings]
        lives = sorted((close_us(each) or 0) - each.said[0].time_ns // US for each in closed)
        byes = [said for each in mine if (said := goodbye(each))]
        over_here = sum(each.number in over for each in mine)
        assert (row.connections, row.busiest, row.taken) == (len(mine), max(hours.values()), over_here)
        assert row.short == sum(life < 60_000_000 for life in lives)
        assert row.said == sum(said.side == SERVER and said.packet.reason_code == TAKEN_OVER for said in byes)  # type: ignore[attr-defined]
        assert row.goodbyes == sum(said.side == CLIENT for said in byes)
        assert (row.refused, row.broken) == (sum(map(bool, map(code, mine))), len(closed) - len(byes))
        assert row.median_us == (lives[(len(lives) - 1) // 2] if lives else None)
    whole = found[CHURN].clients.total
    assert found[CHURN].clients.number == len(lists)
    assert (whole.connections, whole.taken) == (len(THIS.connections), len(over))
    assert [row.who for row in found[CHURN].clients.top("taken")] == ["flapper"]


def test_ends_of_connections(found: Answers) -> None:
    expected: Counter[Any] = Counter()
    over = taken(THIS)
    for each in THIS.connections:
        said, closed = goodbye(each), sorted(each.closings)
        by = ("client", "server")[said.side if said else closed[0][1]] if said or closed else None
        reason = said.packet.reason_code if said else None  # type: ignore[attr-defined]
        how = "DISCONNECT" if said else closed[0][2] if closed else "open"
        if code(each):
            how, by, reason = "refused", None, code(each)
        elif each.number in over:
            how, by = "taken over", None
        expected[how, by, reason] += 1
    rows = {(row.how, row.by, row.code): row.connections for row in found[CHURN].ends}
    assert {how for how, _, _ in rows} == {"refused", "taken over", "DISCONNECT", "FIN", "RST", "open"}
    assert rows == expected


def test_connections_by_client_and_hour(spark: Any, folders: tuple[Path, Path], found: Answers) -> None:
    more = details(SparkQueries(spark), folders[0], found)[CHURN]
    assert more.bins
    assert more.bins.width == HOUR_US
    expected = Counter((each.client_id, each.said[0].time_ns // US // HOUR_US) for each in THIS.connections)
    shown = {row.who for row in more.course}
    assert "flapper" in shown
    assert {(row.who, row.bin): row.connections for row in more.course} == {
        key: count for key, count in expected.items() if key[0] in shown
    }


# silences


def silence(connection: KnownConnection) -> tuple[int, int] | None:
    """Return the longest silence of the client in microseconds, and its Keep Alive; None if that is turned off."""
    own = [said.time_ns // US for said in connection.said if said.side == CLIENT]
    said = goodbye(connection)
    if not said or said.side == SERVER:
        later = [each.said[0].time_ns // US for each in THIS.connections if each.client_id == connection.client_id]
        ends = [each.said[-1].time_ns for each in THIS.connections]
        ends += [time for each in THIS.connections for time, _, _ in each.closings]
        until = close_us(connection) or max(ends) // US
        own.append(min([until, *(begin for begin in later if begin > own[0])]))
    allowed = next(each.packet.keep_alive for each in connection.said if isinstance(each.packet, Connect))
    for each in connection.said:
        if isinstance(each.packet, Connack):
            given = [prop.value for prop in each.packet.properties if prop.id == SERVER_KEEP_ALIVE.id]
            allowed = given[0] if given else allowed
    return (max(later - early for early, later in pairwise(own)), allowed) if allowed else None


def test_silences(found: Answers) -> None:
    known = {each.number: silence(each) for each in THIS.connections}
    ratios: dict[str, list[float]] = defaultdict(list)
    for each in THIS.connections:
        measured = known[each.number]
        if measured:
            ratios[each.client_id].append(measured[0] / 1_000_000 / measured[1])
    whole = found[SILENCES].total
    every = [ratio for each in ratios.values() for ratio in each]
    assert (whole.late, whole.missed) == (sum(each > 1 for each in every), sum(each > 1.5 for each in every))
    assert (whole.off, whole.by_server, whole.unmeasured) == (6, 1, 0)
    assert whole.timed_out == 1
    rows = list(found[SILENCES].top("ratio"))
    assert [row.who for row in rows] == sorted(ratios, key=lambda who: (-max(ratios[who]), who))[:20]
    for row in rows:
        mine = ratios[row.who or ""]
        assert row.ratio == pytest.approx(max(mine))
        assert (row.late, row.missed) == (sum(each > 1 for each in mine), sum(each > 1.5 for each in mine))
    by_name = {row.who: row for row in rows}
    assert by_name["corrected"].allowed_s == 20
    assert "free" not in by_name


# topics


def test_the_tree_of_topics(found: Answers) -> None:
    sums: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    publishers: dict[tuple[str, ...], set[str]] = defaultdict(set)
    topics: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for connection, said in packets(THIS):
        if not isinstance(publish := said.packet, Publish):
            continue
        side = ("client", "server")[said.side]
        levels = publish.topic.split("/")
        for depth in range(len(levels) + 1):
            key = tuple(levels[:depth])
            topics[key].add(publish.topic)
            counts = {"messages": 1, "bytes": len(said.data), f"{side}_messages": 1, f"qos{publish.qos}": 1,
                      f"{side}_retained": int(publish.retain)}  # fmt: skip
            sums[key].update(counts)
            if said.side == CLIENT:
                publishers[key].add(connection.client_id)
    rows = found[TOPIC_TREE]
    assert {row.name for row in rows} >= {"", "plant", "plant/line-0", "plant/line-1/state/1", "beacon"}
    for row in rows:
        assert not row.others
        key = tuple(row.name.split("/")) if row.depth else ()
        assert {name: getattr(row, name) for name in sums[()]} == {name: sums[key][name] for name in sums[()]}
        assert row.publishers == len(publishers[key])
        assert row.topics == len(topics[key])
    assert rows[0].client_retained > 0
    assert rows[0].server_retained == 1


def test_a_wide_tree_is_cut_and_loses_nothing(spark: Any) -> None:
    given = spark.sql("""
        SELECT 'PUBLISH' AS type, concat(id % 3, '/', id, if(id % 2 = 0, '/a/b/c/d/e/f/g', '')) AS resolved_topic,
            'x' AS client_id, '' AS client, 10 AS packet_bytes, 'client' AS direction, false AS retain, 0 AS qos
        FROM range(300)
    """)
    rows = TOPIC_TREE.ask(ReportTables(SparkQueries(spark), "", tables={"packets": given}))
    below: dict[int, list[TopicLevel]] = defaultdict(list)
    above: list[TopicLevel] = []
    for row in rows:
        del above[row.indent :]
        if above:
            below[id(above[-1])].append(row)
        above.append(row)
        assert row.depth <= DEPTH
    for row in rows:
        inner = below[id(row)]
        assert not inner or sum(each.messages for each in inner) == row.messages
        assert sum(not each.others for each in inner) <= WIDTH
    others = [row for row in rows if row.others]
    assert [row.messages for row in others] == [92, 92, 92]
    assert [row.topics for row in others] == [92, 92, 92]


# fan-out


def test_fan_out(found: Answers) -> None:
    last: dict[tuple[str, bytes], tuple[int, int]] = {}
    fans: dict[int, list[int]] = {}
    about: dict[int, tuple[str, int]] = {}
    lost: Counter[Any] = Counter()
    repeated = 0
    for index, (_, said) in enumerate(packets(THIS)):
        if not isinstance(publish := said.packet, Publish) or publish.dup:
            continue
        key = publish.topic, publish.payload
        near = key in last and said.time_ns - last[key][1] <= 10_000_000_000
        if said.side == CLIENT:
            repeated += near
            last[key] = index, said.time_ns
            fans[index], about[index] = [], (publish.topic, said.time_ns)
        elif near:
            fans[last[key][0]].append(said.time_ns)
        else:
            lost[publish.topic, publish.retain] += 1
    (whole,) = (row for row in found[FAN_OUT] if row.grouping == OF_ALL)
    counts = [len(each) for each in fans.values()]
    assert (whole.messages, whole.deliveries, whole.most) == (len(counts), sum(counts), max(counts))
    assert whole.undelivered == counts.count(0) > 10
    assert (whole.retained, whole.unmatched) == (1, sum(lost.values()) - 1)
    assert whole.unmatched > 10
    assert whole.repeated == repeated == 4
    classes = {row.fan_class: row.messages for row in found[FAN_OUT] if row.grouping == OF_CLASS and row.messages}
    assert classes == Counter(counts)
    delays = sorted((max(times) - about[at][1]) // US for at, times in fans.items() if times)
    assert whole.delays_us == [delays[-(-len(delays) * percent // 100) - 1] for percent in (50, 90, 99)]
    rows = [row for row in found[FAN_OUT] if row.grouping == OF_TOPIC]
    assert len(rows) == 9
    for row in rows:
        mine = [len(times) for at, times in fans.items() if about[at][0] == row.topic]
        assert (row.messages, row.deliveries, row.most) == (len(mine), sum(mine), max(mine))
        assert row.unmatched == lost[row.topic, False]


# anomalies


def courses(known: Afternoon, width: int) -> dict[tuple[str, str], list[float | None]]:
    """Return the measures of each client by interval, without those that may be cut off."""
    seen: dict[str, dict[int, list[tuple[KnownConnection, Said]]]] = defaultdict(lambda: defaultdict(list))
    for connection, said in packets(known):
        seen[connection.client_id][said.time_ns // US // width].append((connection, said))
    ends = [number for bins in seen.values() for number in bins]
    found: dict[tuple[str, str], list[float | None]] = {}
    for who, bins in seen.items():
        for name in ("packets", "size", "errors", "connects"):
            numbers = range(max(min(bins), min(ends)) + 1, max(ends))
            found[who, name] = [_measured(name, bins.get(number, [])) for number in numbers]
    return found


def _measured(name: str, said: list[tuple[KnownConnection, Said]]) -> float | None:
    own = [(connection, each) for connection, each in said if each.side == CLIENT]
    if name == "packets":
        return len(own)
    if name == "connects":
        return sum(isinstance(each.packet, Connect) for _, each in said)
    if name == "errors":
        return float(sum((getattr(each.packet, "reason_code", 0) or 0) >= 0x80 for _, each in said))
    sizes = [len(each[1].data) for each in own if isinstance(each[1].packet, Publish)]
    return sum(sizes) / len(sizes) if sizes else None


def test_anomalies(found: Answers) -> None:
    bins = found[ANOMALIES].bins
    assert bins
    assert bins.width == 5 * 60_000_000
    expected: dict[tuple[str, str], list[tuple[float, float, int]]] = defaultdict(list)
    course = courses(THIS, bins.width)
    for key, values in course.items():
        for at, value in enumerate(values):
            past = [each for each in values[:at] if each is not None]
            if value is None or len(past) < 10:
                continue
            usual = median(past)
            mad = median(abs(each - usual) for each in past)
            least = max(usual / 10, 1) if key[1] == "size" else max(usual, 1) ** 0.5
            score = (value - usual) / max(1.4826 * mad, least)
            if abs(score) >= 6:
                expected[key].append((score, value, len(past)))
    assert {("dev-1", "size"), ("dev-2", "packets"), ("dev-3", "errors")} <= expected.keys()
    rows = {(row.who, row.measure): row for row in found[ANOMALIES].rows}
    assert rows.keys() == expected.keys()
    for key, row in rows.items():
        score, value, past_intervals = max(expected[key], key=lambda each: abs(each[0]))
        assert row.intervals == len(expected[key])
        assert (row.worst.score, row.worst.value) == pytest.approx((score, value))
        assert row.worst.past == past_intervals
    assert found[ANOMALIES].clients == len({who for who, _ in course})
    assert found[ANOMALIES].judged == len({who for (who, _), values in course.items() if len(values) > 10})


# another run


def test_comparison(found: Answers) -> None:
    compared = found.get(COMPARISON)
    assert compared
    assert compared.then[TRAFFIC].totals.packets == sum(1 for _ in packets(OTHER))
    sides = []
    for known in (THIS, OTHER):
        clients: Counter[str] = Counter()
        topics: Counter[str] = Counter()
        for connection, said in packets(known):
            clients[connection.client_id] += 1
            if isinstance(said.packet, Publish):
                topics[said.packet.topic] += 1
        sides.append((clients, topics))
    for rows, now, then in zip((compared.clients, compared.topics), *sides, strict=True):
        kinds = {
            "new": now.keys() - then.keys(), "gone": then.keys() - now.keys(), "both": now.keys() & then.keys()
        }  # fmt: skip
        for kind, names in kinds.items():
            assert names
            mine = [row for row in rows if row.kind == kind]
            assert {row.who for row in mine} <= names
            assert len(mine) == min(20, len(names))
            assert {row.number for row in mine} == {len(names)}
        assert all((row.now_packets, row.then_packets) == (now[row.who], then[row.who]) for row in rows)
    assert {"dev-0", "dev-1"} <= {row.who for row in compared.clients if row.kind == "new"}
    assert "dev-8" in {row.who for row in compared.clients if row.kind == "gone"}


def test_latencies_of_both_runs(found: Answers) -> None:
    rows = {(row.run, row.kind, row.sender): row for row in found[COMPARISON].latencies}
    for run, known in (("now", THIS), ("then", OTHER)):
        times: list[int] = []
        for each in known.connections:
            asked: dict[int, int] = {}
            for said in each.said:
                if isinstance(said.packet, Publish) and said.packet.qos and said.packet.packet_id:
                    asked.setdefault(said.packet.packet_id, said.time_ns)
                elif isinstance(said.packet, Puback):
                    times.append((said.time_ns - asked.pop(said.packet.packet_id)) // US)
        times.sort()
        row = rows[run, "QoS 1", "client"]
        assert row.answers == len(times)
        assert row.percentiles == [times[-(-len(times) * percent // 100) - 1] for percent in (50, 95, 99)]


# shown


def test_the_page_and_the_terminal_show_them(
    spark: Any, folders: tuple[Path, Path], found: Answers, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page("this", details(SparkQueries(spark), folders[0], found))
    for words in (
        "Clients with the most of 51 connections", "taken over, 0x8e Session taken over", "refused by CONNACK, 0x87",
        "DISCONNECT of the client", "Connections per client and 1 h", "Longest silences compared with Keep Alive",
        "the server ended 1 with 0x8d", "Topics by level", "Messages by number of deliveries",
        "Clients that differ most from their own past", "bytes of a PUBLISH", "Compared with another run",
        "New clients",
    ):  # fmt: skip
        assert words in text, words
    show_summary(found)
    shown = capsys.readouterr().out
    for words in ("flapper", "sleepy", "line-0", "Estimated deliveries", "dev-2", "New clients", "other one"):
        assert words in shown, words
    assert record(found)["comparison"]["summary"]["packets"] == found[COMPARISON].then[TRAFFIC].totals.packets
