"""Every view of any events, many more of them than the quick tests try."""

import json
from xml.etree import ElementTree as Xml

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.traffic.context import PacketInContext
from mqttpub.traffic.events import Event
from mqttpub.view.diagram.ladder import ladder
from mqttpub.view.diagram.mermaid import mermaid
from mqttpub.view.diagram.svg import ladder_svg
from mqttpub.view.traffic.exchanges import ExchangeLines
from mqttpub.view.traffic.statistics import record, screen
from mqttpub.view.traffic.summary import SummaryLines
from mqttpub.view.traffic.summary_json import JsonLines
from tests.build.events import counted, exchanged, linted, talks
from tests.view.diagram.test_mermaid import LINE
from tests.view.drawn import check


@pytest.mark.slow
@settings(max_examples=150)
@given(talks(), st.integers(60, 200))
def test_every_view_holds(events: list[Event], width: int) -> None:
    known = list(linted(events))
    summary, exchanges, lines = SummaryLines(width=width), ExchangeLines(width=width), JsonLines()
    check((summary.line(each) for each in known), width)
    check((line for each in exchanged(events) for line in exchanges.lines(each)), width)
    check(screen(counted(events), width=width), width)
    check(ladder(known, width=width), width)
    Xml.fromstring("\n".join(ladder_svg(known)))
    assert all(LINE.fullmatch(line) for line in mermaid(known))
    assert all(json.loads(lines.line(each))["record"] == _record(each) for each in known)
    json.dumps(record(counted(events)), allow_nan=False)


def _record(each: object) -> object:
    return each.event.record if isinstance(each, PacketInContext) else getattr(each, "record", None)
