"""How the step that awaits a packet compares with the one that came."""

import pytest

from mqttpub.codec.encode import encode
from mqttpub.script.packets import Mismatch, StepContext, corrected, mismatches
from mqttpub.script.reader import read_line
from mqttpub.script.steps import PacketStep
from mqttpub.spec.declare import Packet, Property
from mqttpub.spec.packets import Connect, Puback, Publish, Suback, Subscribe, Subscription, Will
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Version

USER, ALIAS, DELAY = (BY_KEY[key].id for key in ("user_property", "topic_alias", "will_delay_interval"))
PUBLISH = Publish(
    topic="a/7/b", qos=1, packet_id=5, payload=b"hi",
    properties=(Property(USER, ("k", "1")), Property(USER, ("k", "2")), Property(ALIAS, 3)),
)  # fmt: skip
SUBSCRIBE = Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=1), Subscription(filter="b")))
CONNECT = Connect(client_id="x", will=Will(topic="w", payload=b"p", properties=(Property(DELAY, 5),)), will_qos=1)


def compared(text: str, packet: Packet, **bindings: int | bytes) -> tuple[list[Mismatch], dict[str, int | bytes]]:
    """Return what is wrong, and the values of variables afterwards."""
    (step,) = read_line(text)
    assert isinstance(step, PacketStep)
    return mismatches(step, packet, StepContext(Version.V5, bindings, {})), bindings


@pytest.mark.parametrize(
    ("text", "packet"),
    [
        ("< publish", PUBLISH),
        ("< publish q1 i5 t=a/7/b p=hi topic_alias=3", PUBLISH),
        ("< publish user_property=k:1 user_property=k:2", PUBLISH),
        ("< publish user_property=k:2", PUBLISH),
        ("< publish -content_type -message_expiry_interval", PUBLISH),
        ("< puback i5 c00", Puback(packet_id=5)),
        ("< suback c01,80", Suback(packet_id=1, reason_codes=(1, 0x80))),
        ("> subscribe f=a:q1,b", SUBSCRIBE),
        ("> subscribe f=a,b", SUBSCRIBE),
        ("> connect will=q1", CONNECT),
        ("> connect will.topic=w will.will_delay_interval=5 will.qos=1", CONNECT),
    ],
)
def test_a_packet_that_has_all_that_is_named_is_accepted(text: str, packet: Packet) -> None:
    assert compared(text, packet)[0] == []


@pytest.mark.parametrize(
    ("text", "packet", "wrong"),
    [
        ("< publish q2", PUBLISH, [("q2", "qos", 1)]),
        ("< publish t=a p=x", PUBLISH, [("t=a", "topic", "a/7/b"), ("p=x", "payload", b"hi")]),
        ("< publish topic_alias=4", PUBLISH, [("topic_alias=4", "topic_alias", 3)]),
        ("< publish content_type=x", PUBLISH, [("content_type=x", "content_type", None)]),
        ("< publish user_property=k:1 user_property=k:1", PUBLISH,
         [("user_property=k:1", "user_property", ("k", "2"))]),
        ("< puback i5 c10", Puback(packet_id=5), [("c10", "reason_code", 0)]),
        ("< suback c01", Suback(packet_id=1, reason_codes=(1, 0x80)), [("c01", "reason_codes", (1, 0x80))]),
        ("> subscribe f=a:q2,b", SUBSCRIBE, [("f=a:q2,b", "subscriptions", SUBSCRIBE.subscriptions)]),
        ("> connect will.payload=x", CONNECT, [("will.payload=x", "payload", b"p")]),
        ("> connect will.topic=w", Connect(client_id="x"), [("will.topic=w", "topic", None)]),
    ],
)  # fmt: skip
def test_what_is_otherwise_is_named(text: str, packet: Packet, wrong: list[tuple[str, str, object]]) -> None:
    assert [(each.given.word.text, each.key, each.actual) for each in compared(text, packet)[0]] == wrong


def test_a_variable_takes_the_first_value_and_is_compared_afterwards() -> None:
    text = "< publish i=$p t=a/${n}/b user_property=k:${v}"
    assert compared(text, PUBLISH) == ([], {"p": 5, "n": b"7", "v": b"1"})
    wrong, bindings = compared(text, PUBLISH, n=b"8")
    assert [each.key for each in wrong] == ["topic"]
    assert bindings == {"n": b"8"}, "a packet that does not fit sets no variable"
    assert compared("< publish i=$p", PUBLISH, p=6)[0][0].actual == 5
    assert compared("< publish t=${x}/7/${x}", PUBLISH)[0][0].key == "topic"
    assert compared("< publish user_property=${x}:2", PUBLISH) == ([], {"x": b"k"})
    assert compared("< publish user_property=${x}:1 user_property=k:2", PUBLISH) == ([], {"x": b"k"})
    assert (
        compared("< publish user_property=k:2 user_property=k:1", PUBLISH)[0][0].given.word.text == "user_property=k:1"
    )
    one = Property(USER, ("one", "zz")), Property(USER, ("two", "v"))
    assert compared("< publish user_property=${n}:v", PUBLISH.replace(properties=one)) == ([], {"n": b"two"})
    assert compared("< publish user_property=${k}:${k}", PUBLISH)[0][0].key == "user_property"


@pytest.mark.parametrize(
    ("text", "topic", "bound"),
    [
        ("t=${x}", "a/b", {"x": b"a/b"}),
        ("t=${x}/b", "a/b/b", {"x": b"a/b"}),
        ("t=a/${x}", "a/", {"x": b""}),
        ("t=${x}/${y}", "a/b/c", {"x": b"a", "y": b"b/c"}),
        ("t=${x}/${x}", "a/a", {"x": b"a"}),
        ("t=${x}${y}", "ab", {"x": b"", "y": b"ab"}),
        ("t=${x}/c", "a/b", None),
        ("t=${x}/c", "/cd", None),
        ("t=b${x}", "a", None),
    ],
)
def test_a_variable_in_a_text_takes_all_up_to_what_follows(
    text: str, topic: str, bound: dict[str, bytes] | None
) -> None:
    wrong, bindings = compared(f"< publish {text}", Publish(topic=topic))
    assert (wrong == [], bindings) == (bound is not None, bound or {})


@pytest.mark.parametrize(
    ("text", "packet", "changes"),
    [
        ("< publish q2 p=ho t=${x}", PUBLISH, {"qos": 2, "payload": b"ho"}),
        ("< publish topic_alias=4", PUBLISH, {"properties": (*PUBLISH.properties[:2], Property(ALIAS, 4))}),
        ("< puback c10", Puback(packet_id=5), {"reason_code": 0x10}),
        (
            "> connect will.topic=x will.qos=2",
            CONNECT,
            {"will": Will(topic="x", payload=b"p", properties=(Property(DELAY, 5),)), "will_qos": 2},
        ),
    ],
)
def test_the_awaited_packet_differs_only_in_what_is_wrong(
    text: str, packet: Packet, changes: dict[str, object]
) -> None:
    made = corrected(packet, compared(text, packet)[0], StepContext(Version.V5, {}, {}))
    assert made == encode(packet.replace(**changes), Version.V5)


def test_an_awaited_packet_that_cannot_be_written_is_empty() -> None:
    wrong = compared("< publish i=$p", PUBLISH, p=70000)[0]
    assert corrected(PUBLISH, wrong, StepContext(Version.V5, {"p": 70000}, {})) == b""


def test_a_property_that_must_not_be_there_is_a_mismatch_and_is_left_out_of_what_was_awaited() -> None:
    wrong, _ = compared("< publish -topic_alias", PUBLISH)
    assert [(each.key, each.actual) for each in wrong] == [("topic_alias", 3)]
    kept = tuple(each for each in PUBLISH.properties if each.id != ALIAS)
    context = StepContext(Version.V5, {}, {})
    assert corrected(PUBLISH, wrong, context) == encode(PUBLISH.replace(properties=kept), Version.V5)
