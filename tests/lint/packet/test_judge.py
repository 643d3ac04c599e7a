"""What the judge of single packets remembers never hides a finding."""

from collections.abc import Iterator
from typing import Any

import pytest

from mqttpub.codec.encode import encode
from mqttpub.lint.fault import Fault
from mqttpub.lint.packet import fast, rules
from mqttpub.lint.packet.judge import PacketJudge
from mqttpub.lint.packet.view import PacketView
from mqttpub.lint.registry import RULES, rule
from mqttpub.spec.constraints import StatementRef
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version

ENDS = (Direction.SERVER, Direction.CLIENT, None)


@pytest.fixture
def of_clients(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A rule of the Topic Names of clients, and what stands for it."""

    def quick(packet: Any, direction: Direction | None) -> bool:
        of_server = direction is Direction.CLIENT and packet.topic == "of/server"
        return not of_server and fast.clean_publish(packet, direction)

    for table in (fast._CHECKS, fast._quick):
        monkeypatch.setitem(table, Publish, quick)
    monkeypatch.setattr("mqttpub.lint.registry.RULES", declared := [*RULES])
    monkeypatch.setattr(rules, "RULES", declared)
    rules._rules.cache_clear()

    @rule(Publish, cites=StatementRef("4.7.2/dollar", "4.7.2/dollar"), sender=Direction.CLIENT, runs=quick)
    def of_server(packet: PacketView) -> Iterator[Fault]:
        if packet.value("topic") == "of/server":
            yield packet.fault("topic", "is of the server")

    yield
    rules._rules.cache_clear()


@pytest.mark.parametrize("version", [Version.V311, Version.V5])
@pytest.mark.parametrize("topic", ["of/server", "$SYS/broker"])
def test_a_topic_that_is_clean_from_one_end_is_judged_again_from_the_other(
    of_clients: None, topic: str, version: Version
) -> None:
    judge, data = PacketJudge(), encode(Publish(topic=topic), version)
    found = [[bool(judge.alone(data, version, end)[1]) for end in ENDS] for _ in range(2)]
    assert found == [[end is Direction.CLIENT for end in ENDS]] * 2
    heads = [bool(judge.head(data[0], data[2:], version, end).topic) for end in ENDS]
    assert heads == [end is not Direction.CLIENT for end in ENDS]
