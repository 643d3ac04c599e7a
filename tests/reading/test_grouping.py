"""Which clients, statements and topics have the most findings."""

import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from mqttpub.codec.tree import Finding
from mqttpub.reading import grouping
from mqttpub.reading.grouping import FindingGroups
from mqttpub.spec.packets import Pingreq, Publish
from mqttpub.spec.versions import Direction
from mqttpub.traffic.aliases import Topic
from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import Endpoints
from mqttpub.view.terminal.cells import text_of
from mqttpub.view.traffic.groups import group_lines, group_records
from mqttpub.wire.cursor import Span

ENDS = Endpoints(3, "10.0.0.1:50000", "10.0.0.9:1883")
CLIENT, SERVER = Direction.CLIENT, Direction.SERVER


def found(end: Direction | None = CLIENT, statement: str = "MQTT5-3.3.1-2", severity: str = "error") -> Finding:
    """Return a finding."""
    return Finding(severity, "publish", Span(0, 1), "is wrong", statement, at_fault=end)


def names(groups: FindingGroups) -> dict[str, int]:
    """Return the number of findings by the name of the group."""
    return {str(each.name): each.findings for each in groups.ranked()}


@pytest.mark.parametrize(
    ("end", "ends", "client", "name"),
    [
        (CLIENT, ENDS, "sensor-1", "sensor-1"),
        (CLIENT, ENDS, "", "10.0.0.1:50000"),
        (CLIENT, Endpoints(3, "", ""), "", "connection 3"),
        (SERVER, ENDS, "sensor-1", "server 10.0.0.9:1883"),
        (SERVER, Endpoints(3, "", ""), "sensor-1", "server"),
        (None, ENDS, "sensor-1", "sensor-1"),
        (CLIENT, ENDS, "x" * 60_000, f"{'x' * 256}...+59744"),
    ],
)
def test_a_finding_is_counted_by_the_end_at_fault(
    end: Direction | None, ends: Endpoints, client: str, name: str
) -> None:
    groups = FindingGroups("client")
    groups.add([found(end)], ends, client)
    assert names(groups) == {name: 1}


def test_a_client_that_is_called_like_a_server_is_another_group() -> None:
    groups = FindingGroups("client")
    groups.add([found(CLIENT), found(SERVER)], Endpoints(1, "a:1", "b:2"), "b:2")
    assert len(groups) == 2


def test_topics_are_those_of_publish_with_their_aliases_resolved() -> None:
    groups = FindingGroups("topic")
    for packet, topic in (
        (Publish(topic="a"), None),
        (Publish(topic=""), Topic("a", 1, False, False)),
        (Pingreq(), None),
    ):
        event: Any = None
        groups.add([found()], ENDS, "c", PacketInContext(event, packet, topic, "c"))
    groups.add([found()], ENDS, "c")
    assert names(groups) == {"": 2, "a": 2}


def test_statements_name_their_clients() -> None:
    groups = FindingGroups("statement")
    groups.add([found(), found(statement="MQTT5-4.3.2-4", severity="warning"), found(SERVER)], ENDS, "c")
    assert list(group_records(groups)) == [
        {
            "event": "group", "by": "statement", "statement": "MQTT5-3.3.1-2", "findings": 2, "errors": 2,
            "warnings": 0, "notes": 0, "findings_left_out": 0,
            "clients": [{"client": "c", "end": "client", "findings": 1},
                        {"client": "10.0.0.9:1883", "end": "server", "findings": 1}],
        },
        {
            "event": "group", "by": "statement", "statement": "MQTT5-4.3.2-4", "findings": 1, "errors": 0,
            "warnings": 1, "notes": 0, "findings_left_out": 0,
            "clients": [{"client": "c", "end": "client", "findings": 1}],
        },
    ]  # fmt: skip


def test_the_screen_shows_the_first_and_says_how_many_there_are_more() -> None:
    groups = FindingGroups("client")
    for number in range(13):
        groups.add([found()] * (13 - number) + [found(severity="note", statement="S")], ENDS, f"c{number}\x1b")
    drawn = [text_of(line).rstrip() for line in group_lines(groups, 80)]
    assert drawn[:2] == ["Findings by client, most first", "  c0\\x1b  13 errors, 1 note  MQTT5-3.3.1-2 (13), S"]
    assert drawn[-1] == "  ... 3 more clients with 9 findings"
    assert len(drawn) == 12
    assert len(list(group_lines(groups, 80, None))) == 14


# bounded memory


def flood(number: int) -> Iterator[tuple[str, int]]:
    """Yield so many clients with one finding each, and among them, from the middle on, one with many."""
    for each in range(number):
        yield f"id-{each}", 1
        if each > number // 2 and each % 50 == 0:
            yield "late", 3


def test_a_flood_of_clients_leaves_those_with_the_most_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST_GROUPS", 100)
    groups, truth = FindingGroups("client"), Counter[str]()
    for name, count in flood(5000):
        truth[name] += count
        groups.add([found()] * count, ENDS, name)
        assert len(groups) <= 200
    assert names(groups)["late"] == truth["late"] == groups.ranked()[0].findings
    assert groups.findings == truth.total()
    drawn = text_of(list(group_lines(groups, 200))[-1])
    assert "... at least" in drawn
    assert "counts may be too low" in drawn
    left = list(group_records(groups))[-1]
    assert (left["event"], left["findings"]) == ("groups_left_out", truth.total() - sum(names(groups).values()))


def test_the_parts_of_a_group_are_bounded() -> None:
    groups = FindingGroups("client")
    groups.add([found(statement=f"S{number}") for number in range(40)], ENDS, "c")
    (record,) = group_records(groups)
    assert (len(record["statements"]), record["findings_left_out"]) == (16, 24)
    assert text_of(list(group_lines(groups, 200))[1]).endswith("S4, 35 of others")


def test_counts_of_several_inputs_are_added_up() -> None:
    one, two, both = (FindingGroups("client") for _ in range(3))
    for groups, clients in ((one, "aab"), (two, "bcc")):
        for client in clients:
            for each in (groups, both):
                each.add([found(), found(SERVER, "S", "warning")], ENDS, client)
    one.join(pickle.loads(pickle.dumps(two)))
    assert list(group_records(one)) == list(group_records(both))
