"""Requests and answers over one connection to a scripted peer."""

import pytest

from mqttpub.live.failures import Refused
from mqttpub.live.net.target import Target
from mqttpub.live.request.requester import Answer, AskOptions, Requester
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Version
from tests.fakes import Peer, conversation, scripted

NEW, LEAVES = "< 20 03 00 00 00", "> e0 00"
SUBSCRIBE, SUBACK = "> 82 07 00 01 00 00 01 72 21", "< 90 04 00 01 00 01"
ASKS = "> 30 0e 00 01 61 09 08 00 01 72 09 00 02 63 31 3f"
OURS = "00 01 72 05 09 00 02 63 31"
"""Topic Name `r` and properties with the Correlation Data of the request."""


def requester(port: int, said: list[str] | None = None, *, qos: int = 0, **options: object) -> Requester:
    """Return a requester that asks `?` of the topic `a`, with answers to `r`."""
    version = options.pop("version", Version.V5)
    target = Target("127.0.0.1", port, connect=Connect(client_id="me"), version=version)  # type: ignore[arg-type]
    given = {"response_topic": "r", "correlation": b"c1", "timeout_s": 5.0, "wait_s": 5.0, **options}
    packet = Publish(topic="a", qos=qos, payload=b"?")
    remarks: list[str] = [] if said is None else said
    return Requester(target, packet, AskOptions(**given), remark=remarks.append)  # type: ignore[arg-type]


def test_only_messages_with_its_correlation_data_answer_a_request() -> None:
    theirs, without = "00 01 72 05 09 00 02 63 32 21", "00 01 72 00 21"
    talk = conversation(
        NEW, SUBSCRIBE, SUBACK, ASKS,
        f"< 30 0a {theirs} 30 05 {without} 31 0a {OURS} 79 30 0a {OURS} 31 30 0a {OURS} 32", LEAVES,
    )  # fmt: skip
    with scripted(talk) as port:
        made = requester(port, answers=2)
        found = list(made.run())
    assert [(each.message.payload, each.round.number, each.round.answers) for each in found] == [
        (b"1", 1, 1),
        (b"2", 1, 2),
    ]
    assert all(isinstance(each, Answer) and each.latency_ns > 0 for each in found)
    # Those of others, and a retained one, which is older than the request.
    assert (made.complete, made.strangers, made.unanswered) == (1, 3, [])
    assert made.connack


def test_a_request_without_an_answer_is_named_and_the_next_is_asked() -> None:
    talk = conversation(NEW, SUBSCRIBE, SUBACK, ASKS, ASKS, f"< 30 0a {OURS} 31", LEAVES)
    with scripted(talk) as port:
        made = requester(port, rounds=2, wait_s=0.5)
        assert [each.round.number for each in made.run()] == [2]
    assert [each.number for each in made.unanswered] == [1]


def test_before_5_0_any_message_answers() -> None:
    talk = conversation(
        "< 20 02 00 00", "> 82 06 00 01 00 01 72 01", "< 90 03 00 01 01", "> 30 04 00 01 61 3f", "< 30 04 00 01 72 31",
        LEAVES,
    )  # fmt: skip
    with scripted(talk) as port:
        assert [each.message.payload for each in requester(port, version=Version.V311).run()] == [b"1"]


def test_a_topic_of_our_own_begins_with_the_response_information() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        peer.packet()
        peer.send("20 09 00 00 06 1a 00 03 69 2f 6a")
        seen.append(peer.packet())
        peer.send("90 04 00 01 00 87")
        seen.append(peer.packet())

    with scripted(script) as port:
        made = requester(port, response_topic="")
        with pytest.raises(Refused, match=r"refused the Topic Filter 'i/j/[0-9a-f]{8}': 0x87 Not authorized"):
            list(made.run())
    assert made.response_topic.encode() in seen[0]
    assert seen[1].hex(" ") == LEAVES[2:]


def test_a_refused_request_ends_the_run() -> None:
    asks = "> 32 10 00 01 61 00 01 09 08 00 01 72 09 00 02 63 31 3f"
    refusal = "< 40 08 00 01 87 04 1f 00 01 6e"
    sentence = "the broker refused the request: 0x87 Not authorized: n"
    talk = conversation(NEW, SUBSCRIBE, SUBACK, asks, refusal, LEAVES)
    with scripted(talk) as port, pytest.raises(Refused, match=sentence) as caught:
        list(requester(port, qos=1).run())
    assert caught.value.code == 0x87


def test_that_nobody_subscribes_is_remarked_once() -> None:
    asks = "> 32 10 00 01 61 00 0{} 09 08 00 01 72 09 00 02 63 31 3f"
    said: list[str] = []
    talk = conversation(
        NEW, SUBSCRIBE, SUBACK, asks.format(1), "< 40 03 00 01 10", f"< 30 0a {OURS} 31", asks.format(2),
        "< 40 03 00 02 10", f"< 30 0a {OURS} 31", LEAVES,
    )  # fmt: skip
    with scripted(talk) as port:
        assert len(list(requester(port, said, qos=1, rounds=2).run())) == 2
    assert said == ["nobody subscribes to 'a' (0x10)"]


@pytest.mark.parametrize("force", [False, True])
def test_what_connack_forbids_is_not_asked(force: bool) -> None:
    limited = "< 20 05 00 00 02 24 00"
    asks = "> 32 10 00 01 61 00 01 09 08 00 01 72 09 00 02 63 31 3f"
    last = [asks, f"< 40 02 00 01 30 0a {OURS} 31", LEAVES] if force else [LEAVES]
    with scripted(conversation(limited, SUBSCRIBE, SUBACK, *last)) as port:
        made = requester(port, qos=1, force=force)
        if force:
            assert len(list(made.run())) == 1
        else:
            with pytest.raises(Refused, match=r"not sent: .*Maximum QoS"):
                list(made.run())
