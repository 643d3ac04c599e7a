"""The words that `edit` puts into a packet and takes out."""

import pytest

from mqttpub.cli.step.editing import edited
from mqttpub.common.bad_text import BadText
from mqttpub.common.errors import UserError
from mqttpub.script.lex import ScriptWord

NEXT = "> publish q2 i=1 t=step p=hello"


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("q1", "> publish i=1 t=step p=hello q1"),
        ("qos=1", "> publish i=1 t=step p=hello qos=1"),
        ("topic=x/y", "> publish q2 i=1 p=hello topic=x/y"),
        ("t=x/y", "> publish q2 i=1 p=hello t=x/y"),
        ("i0x10", "> publish q2 t=step p=hello i0x10"),
        ("Packet-ID=3", "> publish q2 t=step p=hello Packet-ID=3"),
        ("twice", f"{NEXT} twice"),
        ("twice -twice", NEXT),
        ("cut=2 cut=3", f"{NEXT} cut=3"),
        ("slice=1 -slice", NEXT),
        ("within=1s", f"{NEXT} within=1s"),
        ("-t", "> publish q2 i=1 p=hello"),
        ("-topic", "> publish q2 i=1 p=hello"),
        ("-payload -q", "> publish i=1 t=step"),
        ("message_expiry_interval=7 message-expiry-interval=8", f"{NEXT} message-expiry-interval=8"),
        ("response_topic=a -response_topic", NEXT),
        ('p="a b"', '> publish q2 i=1 t=step p="a b"'),
    ],
)
def test_a_word_takes_the_place_of_those_of_its_field(change: str, after: str) -> None:
    assert edited(NEXT, ScriptWord(change, 1, 1, change)) == after


@pytest.mark.parametrize(
    ("text", "change", "after"),
    [
        ("> connect will=q1 id=a", "-will id=b", "> connect id=b"),
        ("> connect will.topic=w id=a", "will.topic=x -id", "> connect will.topic=x"),
        ("> connect will.topic=w will.qos=1", "-will.qos", "> connect will.topic=w"),
        ("> connect clean=1 will.topic=w topic_alias_maximum=3", "clean_start=0 -topic-alias-maximum",
         "> connect will.topic=w clean_start=0"),
        ("> pubrel i=9 c=92", "reason_code=0", "> pubrel i=9 reason_code=0"),
        ("> pubrel i=9 c92", "-c", "> pubrel i=9"),
        ("> subscribe i1 f=a", "f=b:q1,c", "> subscribe i1 f=b:q1,c"),
    ],
)  # fmt: skip
def test_every_spelling_of_a_field_is_the_field(text: str, change: str, after: str) -> None:
    assert edited(text, ScriptWord(change, 1, 1, change)) == after


def test_what_cannot_be_changed_says_where() -> None:
    line = "edit q1 x=1"
    with pytest.raises(BadText, match="PUBLISH has no 'x'") as caught:
        edited(NEXT, ScriptWord("q1 x=1", 1, 6, line))
    assert caught.value.column == 9
    with pytest.raises(UserError, match="no word 'retain'"):
        edited(NEXT, ScriptWord("-retain", 1, 6, line))
