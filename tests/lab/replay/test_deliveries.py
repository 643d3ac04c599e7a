"""Messages of two streams are compared topic by topic, in whatever way the streams interleave."""

import random
from collections.abc import Sequence

import pytest

from mqttpub.lab.replay.deliveries import CAME, CAPTURED, ComparedMessages, Room, TopicDifference

Message = tuple[str, bytes]


def compared(captured: Sequence[Message], came: Sequence[Message], *, seed: int, room: Room) -> list[TopicDifference]:
    """Add both streams, interleaved at random, and return what differs."""
    made, draw = ComparedMessages(room), random.Random(seed)
    streams = {CAPTURED: list(captured), CAME: list(came)}
    while any(streams.values()):
        which = draw.choice([each for each, left in streams.items() if left])
        made.add(which, *streams[which].pop(0))
    return list(made.differences())


def of(topic: str, *payloads: str) -> list[Message]:
    return [(topic, each.encode()) for each in payloads]


CASES = {
    "same": (of("a", *"123") + of("b", *"12"), of("b", *"12") + of("a", *"123"), []),
    "missing at the end": (of("a", *"123"), of("a", *"12"), [("a", "missing", 3, 3, 2)]),
    "missing within": (of("a", *"123"), of("a", *"13"), [("a", "missing", 2, 3, 2)]),
    "more": (of("a", *"12"), of("a", *"123"), [("a", "more", 0, 2, 3)]),
    "twice": (of("a", *"12"), of("a", *"112"), [("a", "more", 2, 2, 3)]),
    "other order": (of("a", *"1234"), of("a", *"1324"), [("a", "order", 2, 4, 4)]),
    "other payload": (of("a", *"123"), of("a", *"1x3"), [("a", "payload", 2, 3, 3)]),
    "other topic": (of("a", *"12"), of("b", *"12"), [("a", "missing", 1, 2, 0), ("b", "more", 0, 0, 2)]),
    "one of two topics": (of("a", *"12") + of("b", *"1"), of("a", *"12") + of("b", *"2"), [("b", "payload", 1, 1, 1)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_the_first_difference_of_each_topic_is_named(name: str, seed: int) -> None:
    captured, came, expected = CASES[name]
    room = Room()
    found = compared(captured, came, seed=seed, room=room)
    assert sorted(map(tuple, found)) == sorted(expected)
    assert vars(room) == vars(Room()), "the room is given back"


def test_without_room_counts_and_payloads_are_still_compared() -> None:
    captured, came = of("a", *"123") + of("b", *"45"), of("a", *"321") + of("b", *"45")
    assert compared(captured, came, seed=1, room=Room(topic_bytes=0)) == []
    (found,) = compared(captured, came[:-1], seed=1, room=Room(topic_bytes=0))
    assert (found.topic, found.what, found.captured, found.came) == ("", "missing", 5, 4)
    (found,) = compared(captured, [*came[:-1], ("b", b"x")], seed=1, room=Room(topic_bytes=0))
    assert (found.topic, found.what) == ("", "payload")
    # One stream may be ahead of the other by less than its messages.
    assert compared(of("a", *"1234"), of("a", *"4321"), seed=1, room=Room(ahead=1)) in ([], [("a", "order", 1, 4, 4)])


def test_memory_does_not_grow_with_the_messages() -> None:
    room = Room(topic_bytes=10 * 700, ahead=10)
    made = ComparedMessages(room)
    for number in range(10_000):
        made.add(CAPTURED, f"t/{number % 100}", b"%d" % number)
    assert len(made._topics) in (10, 11)
    assert sum(len(each.ahead) for each in made._topics.values()) <= 10
