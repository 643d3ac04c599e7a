"""`explain`: what has a name, however it is written, and which end sends what."""

import json
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.spec.concepts import CONCEPTS
from mqttpub.spec.reason_codes import REASONS

SERVER_ONLY = {"CONNACK", "SUBACK", "UNSUBACK"}
"""Packets that only a server sends (2.1.2), of those that carry a Reason Code."""


def explained(capsys: pytest.CaptureFixture[str], word: str) -> list[dict[str, Any]]:
    """Return what `explain --json` says of a word."""
    assert main(["explain", "--json", *word.split()]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_code_is_sent_by_those_who_may_send_the_packet_that_carries_it(capsys: pytest.CaptureFixture[str]) -> None:
    for code in sorted({row.code for row in REASONS}):
        for row in explained(capsys, f"0x{code:02x}"):
            for packet, ends in row.get("senders", {}).items():
                assert ends, (code, packet)
                assert packet not in SERVER_ONLY or ends == ["server"], (code, packet)


SENT_BY = {
    "0x01": "sent by     the server\n",
    "0x11": "sent by     the server\n",
    "0x80": "sent by     the server in CONNACK, SUBACK, UNSUBACK; both ends in DISCONNECT,\n",
    "0x10": "sent by     the server\n",
    "0x04": "sent by     the client\n",
    "0x92": "sent by     both ends\n",
    "5": "sent by     the server, before 5.0\n",
}


@pytest.mark.parametrize("code", SENT_BY)
def test_who_sends_a_code(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code]) == 0
    assert SENT_BY[code] in capsys.readouterr().out


NAMES = {
    "qos": ["QoS", "QoS"],
    "QoS 1": ["QoS"],
    "dup": ["DUP", "DUP"],
    "retain": ["RETAIN", "RETAIN"],
    "retained message": ["RETAIN"],
    "will": ["Will"],
    "LWT": ["Will"],
    "keep alive": ["Keep Alive", "Keep Alive"],
    "keepAlive": ["Keep Alive", "Keep Alive"],
    "remaining length": ["Remaining Length"],
    "session": ["Session"],
    "session expiry": ["Session Expiry Interval"],
    "wildcards": ["Wildcards"],
    "+": ["Wildcards"],
    "$SYS": ["$SYS"],
    "TopicAlias": ["Topic Alias"],
    "TOPIC_ALIAS": ["Topic Alias"],
    "topic-alias": ["Topic Alias"],
    "clean session": ["Clean Start"],
    "packet_id": ["Packet Identifier"],
    "PubAck": ["PUBACK"],
    "notAuthorized": ["Not authorized", "Not authorized", "not authorized"],
}


@pytest.mark.parametrize("word", NAMES)
def test_a_name_is_found_in_any_writing(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ("concept", "field", "property", "packet", "name")
    found = [next(each[kind] for kind in kinds if kind in each) for each in explained(capsys, word)]
    assert found == NAMES[word]


def test_what_a_concept_points_to_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for concept in CONCEPTS:
        for name in (concept.name, *concept.aliases, *concept.see):
            assert main(["explain", name]) == 0, name
    capsys.readouterr()


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_every_name_of_the_overview_can_be_explained(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed.keys() == {"packets", "properties", "reasons", "fields", "concepts"}
    for kind, names in listed.items():
        for name in names:
            word = name.partition(" ")[0] if kind == "reasons" else name
            assert main(["explain", *more, word]) == 0, name
            assert capsys.readouterr().out


def test_a_name_that_is_nearly_one_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "recieve", "maximum"]) == 2
    assert capsys.readouterr().err == (
        "mqttpub explain: 'recieve maximum' is not known; did you mean 'Receive Maximum'? "
        "`mqttpub explain` lists all names\n"
    )
