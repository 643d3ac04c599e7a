"""The ladder as Mermaid text."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.spec.packets import Pingreq, Pingresp, Publish
from mqttpub.traffic.events import Event
from mqttpub.view.diagram.mermaid import MOST_CHARACTERS, mermaid, text
from tests.build.events import CLIENT, Dialog, aliased, linted, redelivered, subscribed, talks, walkthrough
from tests.view.drawn import compare

LINE = re.compile(
    r"sequenceDiagram"
    r"|    participant [CS]\d+ as \S.*"
    r"|    [CS]\d+(->>|-->>|-x)[CS]\d+: \S.*"
    r"|    Note over C\d+,S\d+: \S.*"
)
CODE = re.compile(r"#(\d+);")


def drawn(events: list[Event], **options: Any) -> list[str]:
    """Return the lines of the diagram."""
    return list(mermaid(linted(events), **options))


def test_the_mermaid_files_are_as_recorded(update: bool) -> None:
    broken = bytes.fromhex("38050001746869")
    kinds = (walkthrough().client(broken).events, redelivered(), aliased().events, subscribed().events)
    compare("ladder.mmd.txt", "\n\n".join("\n".join(drawn(events)) for events in kinds), update)


def test_an_arrow_points_to_the_receiver_if_it_is_known() -> None:
    talk = Dialog(3).client(Pingreq()).server(Pingresp()).says(None, Pingreq()).closes(CLIENT).closes(None, "end")
    assert [line.strip() for line in drawn(talk.events)[3:]] == [
        "C3->>S3: 0.000000 PINGREQ",
        "S3->>C3: 0.001000 PINGRESP",
        "Note over C3,S3: 0.002000 PINGREQ",
        "C3-xS3: 0.003000 FIN closes the connection",
        "Note over C3,S3: 0.004000 #69;ND the capture ends",
    ]


@pytest.mark.parametrize(
    ("shown", "coded"),
    [
        ("a/b-1 (x), y=2", "a/b-1 (x), y=2"),
        ("a;b#c%%", "a#59;b#35;c#37;#37;"),
        ('<b>&"', "#60;b#62;#38;#34;"),
        ("the end, END. ending bend", "the #101;nd, #69;ND. ending bend"),
        ("\u4f60\u597d", "\u4f60\u597d"),
    ],
)
def test_characters_with_a_meaning_in_mermaid_become_codes(shown: str, coded: str) -> None:
    assert text(shown) == coded


@given(st.text())
def test_codes_decode_to_the_characters_they_replace(shown: str) -> None:
    coded = text(shown)
    assert CODE.sub(lambda found: chr(int(found[1])), coded) == shown
    assert not set(CODE.sub("", coded)) & set('#;<>&"%:{}[]`\\\n\r')


def test_a_long_conversation_is_cut_with_a_count() -> None:
    talk = Dialog().client(*(Publish(topic="t" * 60, retain=bool(each % 3)) for each in range(2000)))
    lines = drawn(talk.events, squeeze=False)
    assert len("\n".join(lines)) < MOST_CHARACTERS + 100
    assert lines[-1] == f"    Note over C1,S1: ... {2000 - (len(lines) - 4)} more steps"


def test_absolute_times_are_dates_in_utc() -> None:
    assert "2023-09-07T08#58;12#58;33.124456Z PINGREQ" in drawn(Dialog().client(Pingreq()).events, absolute=True)[-1]


@settings(max_examples=15)
@given(talks())
def test_anything_is_lines_that_mermaid_has(events: list[Event]) -> None:
    for line in drawn(events):
        assert LINE.fullmatch(line), line
