"""The text of rules."""

import re

import pytest

from mqttpub.lab.faults.rules import ACTIONS, fault_rule


@pytest.mark.parametrize(("text", "expected"), [
    ("drop", ("drop", None, 0, 0.0, 0.0)),
    ("type=PUBACK drop 2.5%", ("drop", 2.5, 0, 0.0, 0.0)),
    ("delay 200ms jitter 50ms 10%", ("delay", 10.0, 0, 0.2, 0.05)),
    ("direction=server delay 2", ("delay", None, 0, 2.0, 0.0)),
    ("!type=PINGREQ,PINGRESP reorder 3 100%", ("reorder", 100.0, 3, 0.0, 0.0)),
    ('payload="close the door; drop it" slice 1', ("slice", None, 1, 0.0, 0.0)),
    ("client=a,drop silence", ("silence", None, 0, 0.0, 0.0)),
    ("client=a, reset twice", ("twice", None, 0, 0.0, 0.0)),
])  # fmt: skip
def test_the_action_begins_with_the_first_word_that_names_one(text: str, expected: tuple[object, ...]) -> None:
    rule = fault_rule(text)
    assert (rule.action, rule.chance_percent, rule.number, rule.delay_s, rule.jitter_s) == expected
    assert rule.text == text


@pytest.mark.parametrize(("text", "types"), [
    ("set reason_code=0x97",
     "CONNACK PUBACK PUBREC PUBREL PUBCOMP DISCONNECT AUTH"),
    ("type=PUBACK,PUBLISH set topic=x p=\"two words\"", "PUBLISH"),
    ("set i=7", "PUBLISH PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK"),
    ("!type=PUBLISH id=1 set i=7 5%", "PUBACK PUBREC PUBREL PUBCOMP SUBSCRIBE SUBACK UNSUBSCRIBE UNSUBACK"),
    ("set server_keep_alive=1 sp=1", "CONNACK"),
    ("set client_id=", "CONNECT"),
    ("type=PUBLISH,dup set i=1 f=a", "SUBSCRIBE UNSUBSCRIBE"),
])  # fmt: skip
def test_set_knows_which_packets_it_can_change(text: str, types: str) -> None:
    assert [cls.name for cls in fault_rule(text).changes] == types.split()


@pytest.mark.parametrize(("text", "place", "message"), [
    ("", 1, f"an action is missing ({', '.join(ACTIONS)})"),
    ("topic=a/#", 10, "an action is missing"),
    ("typ=PUBACK drop", 1, "'typ=' is not a term"),
    ('topic="a drop', 7, "a quotation mark is not closed"),
    ("drop 0%", 6, "'0%' is not a chance"),
    ("drop 101%", 6, "'101%' is not a chance"),
    ("drop 10", 6, "'10' is one word too many"),
    ("drop; close", 1, "'drop;' is neither a term of --filter nor an action"),
    ("type=PUBACK !dup dorp 5%", 18, "'dorp' is neither a term of --filter nor an action (delay, drop"),
    ("drop 5%; close", 10, "a rule has one action"),
    ("delay", 6, "a time is missing"),
    ("delay soon", 7, "'soon' is not a time"),
    ("delay 1s jitter", 16, "a time is missing"),
    ("delay 1s 50ms", 10, "'50ms' is one word too many"),
    ("cut", 4, "a number of bytes is missing, such as cut 2"),
    ("slice 0", 7, "'0' is not a number of bytes"),
    ("reorder -1", 9, "'-1' is not a number of later packets"),
    ("set", 4, "a field or a property and its value are missing"),
    ("set reason=0x97", 5, "none of these packets has 'reason=0x97'"),
    ("set reason_code=0x197", 5, "Reason Code: 407 does not fit a Byte"),
    ("set reason_code=x", 17, "'x' is not a number"),
    ("set reason_code=1 topic=a", 19, "none of these packets has 'topic=a' too"),
    ("type=PUBACK set topic=x", 17, "PUBACK has no 'topic'"),
    ("type=PUBLISH set q7 i=1", 18, "7 does not fit QoS"),
    ("set i=$id", 5, "the variable id has no value yet"),
    ("type=gap drop", 1, "'type=gap' chooses no packet"),
    ("type=PUBACK type=PUBLISH drop", 1, "'type=PUBACK type=PUBLISH' chooses no packet"),
    ("qos=1 severity=error drop", 7, "severity is for captures"),
])  # fmt: skip
def test_a_wrong_rule_says_where_and_what(text: str, place: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^character {place}: {re.escape(message)}"):
        fault_rule(text)
