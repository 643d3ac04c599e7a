"""The dumps of runs are those of their packets, given one by one."""

from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.cli.decode.views import ViewOptions, dump
from mqttpub.common.times import Zero
from mqttpub.payload.formats import payload_reader
from mqttpub.traffic.context import TrafficItem
from mqttpub.traffic.events import Event
from mqttpub.traffic.runs import PacketRun, RunOrItem
from mqttpub.view.packet.formatted import PayloadFormat
from tests.build.events import known, linted, talks
from tests.build.runs import with_runs
from tests.fuzz.mutated import items_of_captures
from tests.paths import CAPTURES
from tests.view.traffic.test_summary_runs import connections

SCREENS: tuple[dict[str, Any], ...] = (
    {"width": 80}, {"width": 60}, {"width": 133, "full": True}, {"width": 300, "absolute": True}, {"color": True},
    {"payloads": PayloadFormat("hex", "hex", payload_reader("hex"))}, {"width": 70, "secrets": True},
)  # fmt: skip


def shown(events: Iterable[RunOrItem], *, width: int = 80, color: bool = False, **options: Any) -> str:
    """Return the dump of a file as text."""
    variables = {"COLUMNS": str(width), "FORCE_COLOR": "1"} if color else {"COLUMNS": str(width)}
    with patch.dict("os.environ", variables), redirect_stdout(StringIO()) as out:
        dump(events, ViewOptions(zero=Zero(), gathers=True, **options))
    return out.getvalue()


def check(items: Sequence[TrafficItem], screens: Iterable[dict[str, Any]] = SCREENS) -> None:
    runs = list(with_runs(items))
    for screen in screens:
        assert shown(runs, runs=True, **screen) == shown(items, **screen)


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcapng")), ids=lambda path: path.stem)
def test_captures(path: Any) -> None:
    runs = 0
    for number, items in enumerate(items_of_captures(path, 22)):
        check(items, SCREENS[number : number + 1] if number else SCREENS)
        runs += sum(isinstance(each, PacketRun) for each in with_runs(items))
    assert runs > 10


@settings(max_examples=40, deadline=None)
@given(connections(), talks(), st.sampled_from(SCREENS))
def test_any_packets(events: list[Event], others: list[Event], screen: dict[str, Any]) -> None:
    check([*known(events), *linted(others)], [screen])
