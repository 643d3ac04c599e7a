"""How long a client waits before it connects again, and when that begins anew."""

import re
from typing import Any

import pytest

from mqttpub.live import reconnect
from mqttpub.live.failures import ConnectionLost, Failure, Refused
from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import Publication
from mqttpub.live.publish.sources import Listed
from mqttpub.live.reconnect import LASTING_S, LONGEST_PAUSE_S, Reconnection, pause_before
from mqttpub.live.subscribe.subscriber import SubscribeOptions, Subscriber
from mqttpub.spec.packets import Connect, Publish, Subscribe, Subscription
from mqttpub.spec.versions import Version
from tests.fakes import Script, answering, conversation, scripted_many

LOST = ConnectionLost("lost")
SUBSCRIBE = Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=1),))
TARGET = Target("127.0.0.1", version=Version.V5, connect=Connect(client_id="me"))
SUBSCRIBED = "< 20 03 00 00 00", "> 82 07 00 01 00 00 01 61 01", "< 90 04 00 01 00 01"


class Clock:
    """Stands for the module `time`; sleeping costs nothing."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(reconnect, "time", made)
    return made


def pauses(said: list[str]) -> list[float]:
    """Return the seconds in remarks about pauses."""
    return [float(found[1]) for each in said if (found := re.search(r"connecting again in ([\d.]+) s$", each))]


def reset(*lines: str) -> Script:
    """Return a script that takes a CONNECT, has a conversation, and breaks the connection off."""
    return conversation(*lines, "server RST")


def subscribe(port: int, said: list[str], **options: Any) -> None:
    subscriber = Subscriber(
        TARGET._replace(port=port), [SUBSCRIBE], SubscribeOptions(**{"timeout_s": 5.0, **options}), remark=said.append
    )
    for messages in subscriber.run():
        messages.clear()


def publish(port: int, said: list[str], **options: Any) -> None:
    messages = [Publication.of(Publish(topic="a", qos=1), Version.V5) for _ in range(9)]
    Publisher(
        TARGET._replace(port=port), Listed(messages), PublishOptions(timeout_s=99.0, window=1, **options),
        remark=said.append,
    ).run_all()  # fmt: skip


@pytest.mark.parametrize(
    ("run", "script"),
    [
        (subscribe, reset(*SUBSCRIBED)),
        # A message that comes at once, such as a retained one, comes on each connection.
        (subscribe, reset(*SUBSCRIBED, "< 31 05 00 01 61 00 7a")),
        (publish, reset("< 20 03 00 00 00", "> 32 06 00 01 61 00 01 00")),
    ],
)
def test_pauses_grow_though_each_connection_is_accepted(run: Any, script: Script, clock: Clock) -> None:
    said: list[str] = []
    with scripted_many([script] * 10) as port, pytest.raises(Failure):
        run(port, said, reconnects=9)
    assert pauses(said) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10]


def test_an_acknowledged_message_is_progress(clock: Clock) -> None:
    said: list[str] = []
    ends = [answering("40 02 00 01", ""), answering("40 02 00 02", ""), *[answering("")] * 2]
    with scripted_many(ends) as port, pytest.raises(Failure):
        publish(port, said, reconnects=2)
    assert pauses(said) == [0.1, 0.1, 0.2]


def test_a_connection_that_lasts_is_no_failed_attempt(clock: Clock) -> None:
    reconnection = Reconnection(3)
    taken = []
    for lasts_s in (1.0, LASTING_S - 1, LASTING_S, 1.0):
        reconnection.opened()
        clock.now_s += lasts_s
        reconnection.check(LOST)
        before_s = clock.now_s
        assert list(reconnection.pause(LOST))
        taken.append(round(clock.now_s - before_s, 3))
    assert taken == [0.1, 0.2, 0.1, 0.2]


def test_time_without_a_connection_does_not_count_as_one_that_lasts(clock: Clock) -> None:
    reconnection = Reconnection(1)
    reconnection.opened()
    reconnection.check(LOST)
    list(reconnection.pause(LOST))
    clock.now_s += LASTING_S
    with pytest.raises(ConnectionLost):
        reconnection.check(LOST)


def test_two_clients_that_end_each_others_connections_do_not_take_turns_without_a_pause(clock: Clock) -> None:
    """Each connects after its pause, which ends the connection of the other (5.0: 3.1.4-3)."""
    both = [Reconnection(None), Reconnection(None)]
    both[0].opened()
    connections = 0
    until_s = clock.now_s + 600
    while clock.now_s < until_s:
        connections += 1
        both[1].opened()
        both[0].check(LOST)
        list(both[0].pause(LOST))
        both.reverse()
    assert connections < 80


def test_a_session_that_another_client_took_over_is_not_taken_back() -> None:
    said: list[str] = []
    with scripted_many([conversation(*SUBSCRIBED, "< e0 01 8e")]) as port, pytest.raises(Refused, match="taken over"):
        subscribe(port, said, reconnects=None)
    assert said == []


def test_no_number_of_attempts_is_too_many() -> None:
    assert pause_before(100_000) == LONGEST_PAUSE_S
