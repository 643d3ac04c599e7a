"""The records of `decode --json`."""

import json

from mqttpub.spec.packets import Connect, Pingreq
from mqttpub.view.traffic.facts import LONGEST_REMEMBERED
from mqttpub.view.traffic.record_lines import RecordLines
from tests.build.events import CLIENT, SERVER, Dialog, known


def test_other_events_name_the_client_too() -> None:
    talk = Dialog().closes(CLIENT).client(Connect(client_id="a\n")).gap(SERVER, 9, "9 bytes").closes(CLIENT).remark("x")
    records = RecordLines()
    found = [json.loads(records.line(each)) for each in known(talk.events)]
    assert [(each.get("event"), each["client"]) for each in found] == [
        ("closed", None), (None, "a\n"), ("gap", "a\n"), ("closed", "a\n"), ("remark", "a\n"),
    ]  # fmt: skip


def test_long_names_are_not_kept() -> None:
    talk = Dialog().client(Connect(client_id="x" * (LONGEST_REMEMBERED + 1)), Pingreq())
    records = RecordLines()
    for each in known(talk.events):
        assert json.loads(records.line(each))["client"] == "x" * (LONGEST_REMEMBERED + 1)
    assert not records._ends
