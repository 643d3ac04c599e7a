"""Exchanges found by columns are those that the scalar Exchanges finds, whatever the batches."""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.encode import encode
from mqttpub.columns.decode.context import Memory
from mqttpub.columns.decode.decode import decode, key
from mqttpub.columns.exchanges import pair as module
from mqttpub.columns.exchanges.apart import ApartPairing, SharedPackets
from mqttpub.columns.exchanges.handshakes import HandshakePackets
from mqttpub.columns.exchanges.pair import Close, Pairing, closes
from mqttpub.columns.exchanges.transitions import MOST_STEPS
from mqttpub.columns.reassemble.frames import of_events
from mqttpub.columns.schema import CODED_EXCHANGES
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic import handshakes as scalar
from mqttpub.traffic.closings import Closings
from mqttpub.traffic.events import Event
from mqttpub.traffic.handshakes import Exchange
from mqttpub.traffic.statistics import kind_of
from tests.build.events import MS, START, Dialog, exchanged, redelivered, subscribed, walkthrough
from tests.columns.packet_rows import batches, end_columns, rows, text

CLIENT, SERVER = Direction.CLIENT, Direction.SERVER
TWO = "publish q2 i9 t=t p=1024"
LEGS = ("PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP")


def paired(events: Sequence[Event], cuts: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Return rows of exchanges, packets taken in batches; what is between two of them is pickled."""
    memory, pairing, found = Memory(), Pairing(), []
    closings: Closings[str] = Closings()
    for frames in batches(events, cuts):
        batch = pairing.add(decode(frames, memory=memory), closes(frames, closings))
        batch.validate(full=True)
        assert batch.schema == CODED_EXCHANGES
        found += rows(batch)
        pairing, closings = pickle.loads(pickle.dumps((pairing, closings)))
    return found + rows(pairing.finish())


def paired_apart(events: Sequence[Event], cuts: Iterable[int] = ()) -> list[dict[str, Any]]:
    """Return the same from a task for each connection and one for each client, which get what is shared."""
    reads = [(Memory(), Closings[str](), ApartPairing()) for _ in range(3)]
    slots: dict[str, Pairing] = {}
    found = []
    for first, stop in pairwise([0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]):
        given: dict[str, list[SharedPackets]] = {}
        for number, (memory, closings, apart) in enumerate(reads):
            frames = of_events([each for each in events[first:stop] if each.ends.number == number + 1])
            exchanges, shared = apart.add(decode(frames, memory=memory), closes(frames, closings))
            found += rows(exchanges)
            for client in {*shared.clients, *(each[0] for each in shared.closes), *(e.client for e in shared.events)}:
                given.setdefault(client, []).append(_of_client(shared, client))
        for client, parts in given.items():
            packets = reduce(HandshakePackets.joined, (part.packets for part in parts))
            closed = [close for part in parts for _, close in part.closes]
            happened = [event for part in parts for event in part.events]
            found += rows(slots.setdefault(client, Pairing()).add_chosen(packets, closed, happened))
        reads, slots = pickle.loads(pickle.dumps((reads, slots)))
    ended = [apart.finish() for _, _, apart in reads] + [pairing.finish() for pairing in slots.values()]
    return found + [row for each in ended for row in rows(each)]


def _of_client(shared: SharedPackets, client: str) -> SharedPackets:
    own = [index for index, each in enumerate(shared.clients) if each == client]
    return SharedPackets(
        shared.packets.take(np.array(own, np.int64)), [client] * len(own),
        [each for each in shared.closes if each[0] == client],
        [each for each in shared.events if each.client == client],
    )  # fmt: skip


def truth(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return the same as the scalar Exchanges tells it."""
    return [_row(each) for each in exchanged(events) if each.outcome != "sent"]


def _row(each: Exchange) -> dict[str, Any]:
    first, last = each.packets[0], each.packets[-1]
    row: dict[str, Any] = {
        "capture": "", "connection": key(each.ends), "client_id": text(each.client) or None, **end_columns(each.ends),
        "version": each.version.label,
        "sender": each.sender.value if each.sender else None, "kind": kind_of(each), "qos": each.qos,
        "packet_id": each.packet_id, "topic": text(each.topic.name) if each.topic else None,
        "payload_bytes": each.size_bytes, "outcome": each.outcome, "reason_code": each.reason, "resumed": each.resumed,
        "packets": len(each.packets) + each.more, "dups": each.dups, "first_type": first.name, "last_type": last.name,
        "begin_time": _us(first.time), "end_time": _us(last.time),
        "first_frame": first.record, "last_frame": last.record,
        "filters": [text(one) for one in each.filters] or None,
    }  # fmt: skip
    row["latency_us"] = each.latency_us
    for name in LEGS:
        row[f"{name.lower()}_time"] = next((_us(leg.time) for leg in each.packets if leg.name == name), None)
    return row


def _us(time: int | None) -> int | None:
    return None if time is None else time // 1000


def compared(found: list[dict[str, Any]]) -> list[str]:
    """Return rows so that those of two ways can be compared: in one order, and without what only one of them tells."""
    for row in found:
        row.pop("first_pos", None)
        row["filters"] = row["filters"] or None
    return sorted(str(sorted(row.items())) for row in found)


def check(events: Sequence[Event], cuts: Iterable[int] = ()) -> None:
    """Compare all ways."""
    expected = compared(truth(events))
    assert compared(paired(events, cuts)) == expected
    assert compared(paired_apart(events, cuts)) == expected


def check_cut(events: Sequence[Event]) -> None:
    """Compare all ways, with a batch for each event, and with two batches of several."""
    check(events, range(len(events)))
    for cut in range(0, len(events), 3):
        check(events, [cut])


_some = st.integers(1, 2)
_codes = st.sampled_from((0, 0x10, 0x80))
_filters = st.lists(st.sampled_from(("a", "b/#")), max_size=2)
PACKETS = {
    "publish": st.builds(
        Publish, topic=st.just("t"), qos=_some, packet_id=_some, dup=st.booleans(), payload=st.just(b"1")
    ),
    "acks": st.sampled_from((Puback, Pubrec, Pubrel, Pubcomp)).flatmap(
        lambda cls: st.builds(cls, packet_id=_some, reason_code=st.none() | _codes)
    ),
    "subscribe": st.builds(
        Subscribe,
        packet_id=_some,
        subscriptions=_filters.map(lambda those: tuple(Subscription(filter=one) for one in those)),
    ),
    "unsubscribe": st.builds(Unsubscribe, packet_id=_some, filters=_filters.map(tuple)),
    "connect": st.builds(Connect, client_id=st.sampled_from("ab"), clean_start=st.booleans()),
    "connack": st.builds(Connack, session_present=st.booleans(), properties=st.sampled_from(((), ((0x12, "b"),)))),
    "answers": st.sampled_from((Suback, Unsuback)).flatmap(
        lambda cls: st.builds(cls, packet_id=_some, reason_codes=st.lists(_codes, max_size=2).map(tuple))
    ),
}


@st.composite
def dialogues(draw: st.DrawFn) -> list[Event]:
    """Return exchanges of three connections that have two clients and two identifiers, acks right and wrong, closes.

    An end that has closed sends nothing more, but one that has been reset may not know it yet.
    """
    all_three = [Dialog(number) for number in (1, 2, 3)]
    closed: dict[int, list[Direction | None]] = {1: [], 2: [], 3: []}
    events: list[Event] = []
    # Some only have messages of which sessions are made, so that many of them are resumed.
    kinds = draw(st.sampled_from((sorted(PACKETS), ["publish", "acks"], ["publish", "acks", "acks", "connack"])))
    for record in range(draw(st.integers(0, 30))):
        talk = draw(st.sampled_from(all_three))
        ended = closed[talk.ends.number]
        if len(ended) == 2:
            continue
        talk.record, talk.time = record, None if draw(st.integers(0, 9)) == 0 else START + record * 1000
        if not talk.events:
            talk.says(Direction.CLIENT, Connect(client_id=draw(st.sampled_from("aab")), clean_start=False))
        elif draw(st.integers(0, 5)) == 0:
            end, how = draw(st.sampled_from((CLIENT, SERVER, None))), draw(st.sampled_from(("FIN", "RST")))
            if end is not None and end in ended:
                continue
            ended += [end] if how == "FIN" else []
            talk.closes(end, how)
        else:
            packet = draw(PACKETS[draw(st.sampled_from(kinds))])
            direction = draw(st.sampled_from((CLIENT, SERVER, CLIENT, None)))
            if direction in ended:
                continue
            talk.says(direction, encode(packet, Version.V5))
        events += talk.events[-1:]
    return events


@pytest.mark.slow
@given(dialogues(), st.lists(st.integers(0, 25), max_size=3))
@settings(max_examples=40)
def test_exchanges_are_those_of_the_scalar_way(events: list[Event], cuts: list[int]) -> None:
    check(events, cuts)


@pytest.mark.long
@given(dialogues(), st.lists(st.integers(0, 30), max_size=3))
@settings(max_examples=1000)
def test_many_exchanges_are_those_of_the_scalar_way(events: list[Event], cuts: list[int]) -> None:
    check(events, cuts)


@pytest.mark.parametrize("before", [2**26, 2**31 - 9, 2**42 - 9, 2**50, 2**62])
@given(events=dialogues(), cuts=st.lists(st.integers(0, 25), max_size=2))
@settings(max_examples=8)
def test_numbers_of_records_may_be_high(before: int, events: list[Event], cuts: list[int]) -> None:
    check([each._replace(record=each.record + before) for each in events], cuts)


@pytest.mark.parametrize("talk", [walkthrough(), subscribed()], ids=["walkthrough", "subscribed"])
def test_dialogues_that_others_show(talk: Dialog) -> None:
    for cut in (*range(8), len(talk.events) - 5):
        check(talk.events, [cut])


def test_a_session_continues_on_the_next_connection() -> None:
    events = redelivered()
    check(events)
    resumed = [row for row in paired(events, [5]) if row["resumed"]]
    assert [(row["kind"], row["outcome"], row["first_type"], row["topic"]) for row in resumed] == [
        ("QoS 2", "complete", "PUBREL", "meters/7/kWh"),
        ("QoS 1", "complete", "PUBLISH", "meters/7/kWh"),
    ]


def again(line: str, *, present: bool = True) -> list[Event]:
    """Return a QoS 2 message that is left behind, and what the client and the server say on the next connection."""
    first = Dialog(1).say(f"> connect; < connack; > {TWO}").closes(None, "RST")
    second = Dialog(2, record=first.record).say(f"> connect; < connack sp={present:d}; {line}")
    return [*first.events, *second.events]


class Watched(list[Any]):
    """A list that counts how often its items are looked at one after another."""

    searched = 0

    def __iter__(self) -> Iterator[Any]:
        self.searched += 1
        return super().__iter__()


def test_the_work_for_a_close_does_not_grow_with_the_connections() -> None:
    frames = of_events(
        event
        for number in range(1, 21)
        for event in Dialog(number).say("> connect").closes(CLIENT).closes(SERVER).events
    )
    frames.connections = watched = Watched(frames.connections)
    assert len(closes(frames, Closings())) == 20
    assert watched.searched == 1


@pytest.mark.parametrize(
    ("line", "present", "resumed"),
    [
        (f"< pubrec i9; > {TWO} d1; < pubcomp i9", True, ["complete"]),
        ("< pubcomp i9", True, ["complete"]),
        (f"< puback i9; > {TWO} d1", True, []),
        (f"> {TWO} d1", True, ["unfinished"]),
        (f"> {TWO} d1", False, []),
        (f"> {TWO}", True, []),
        ("> publish q2 i8 d1 t=t p=1024", True, []),
    ],
)
def test_what_resumes_a_message(line: str, present: bool, resumed: list[str]) -> None:
    found = again(line, present=present)
    check_cut(found)
    assert [row["outcome"] for row in paired(found) if row["resumed"]] == resumed


@pytest.mark.parametrize(
    ("close", "outcomes"),
    [
        (lambda talk: talk.closes(CLIENT), [("complete", False)]),
        (lambda talk: talk.closes(SERVER), [("complete", False)]),
        (lambda talk: talk.closes(None), [("complete", False)]),
        (lambda talk: talk.closes(CLIENT, "RST"), [("unfinished", False), ("orphan", False)]),
    ],
    ids=["client", "server", "unknown", "reset"],
)
@pytest.mark.parametrize(("first", "other"), ["><", "<>"])
def test_one_end_may_close_before_the_last_acks(close: Any, outcomes: list[Any], first: str, other: str) -> None:
    talk = Dialog().say(f"> connect; < connack; {first} {TWO} d1; {other} pubrec i9; {other} disconnect")
    close(talk)
    talk.say(f"{first} pubrel i9; {other} pubcomp i9").closes(CLIENT if first == ">" else SERVER)
    check_cut(talk.events)
    assert [(row["outcome"], row["resumed"]) for row in paired(talk.events)] == outcomes


def test_an_acknowledgement_before_the_loss_resumes_nothing() -> None:
    """An ack that came before a connection left something has nothing to do with it."""
    first = Dialog(1).say(f"> connect; > {TWO} d1")
    second = Dialog(2, record=first.record).say("> connect; < pubrec i9")
    first.record = second.record
    first.closes(None, "RST")
    second.record = first.record
    second.say("> pubrel i9; < pubcomp i9")
    events = sorted([*first.events, *second.events], key=lambda event: event.record)
    check(events, range(len(events)))
    assert not any(row["resumed"] for row in paired(events, range(len(events))))


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        (["< pubrec i9", "> pubrel i9"], [("orphan", 1), ("orphan", 1)]),
        (["< pubrec i9", "> pubrel i9; < pubrec i9"], [("orphan", 1), ("orphan", 2)]),
        ([f"> {TWO} d1", f"> pubrel i9; > {TWO} d1"], [("orphan", 1), ("unfinished", 1), ("unfinished", 1)]),
        ([f"< pubrec i9; > {TWO}; < pubrec i9", "< pubrec i9"], [("orphan", 1)] * 2 + [("unfinished", 2)]),
    ],
    ids=["apart", "together", "messages", "message"],
)
def test_a_connection_may_go_on_after_several_resets(said: list[str], ended: list[tuple[str, int]]) -> None:
    """Each reset ends what is open: what comes later is an exchange of its own, whatever the batches."""
    talk = Dialog().say("> connect")
    for line in said:
        talk.closes(None, "RST").say(line)
    check_cut(talk.events)
    assert sorted((row["outcome"], row["packets"]) for row in paired_apart(talk.events)) == ended


def test_very_many_packets_of_one_identifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes on for long without a fresh start is followed one by one."""
    monkeypatch.setattr(scalar, "MOST_PACKETS", 1000)
    talk = Dialog().say("; ".join(["< puback i1"] * 3 + ["< pubrec i1"] * (2 * MOST_STEPS)), after=1000)
    check(talk.say("> pubrel i1; < puback i1; < pubcomp i1").events, [50, 100])


def test_an_open_exchange_is_remembered_by_few_packets() -> None:
    talk = Dialog().say(f"> {TWO}{f'; > {TWO} d1' * 50}{'; < pubrec i9' * 50}")
    pairing = Pairing()
    pairing.add(decode(of_events(talk.events)))
    assert pairing.open.count == 3
    (row,) = rows(pairing.finish())
    assert (row["packets"], row["dups"], row["last_frame"], row["outcome"]) == (101, 50, 101, "unfinished")


def test_the_oldest_exchanges_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPEN", 2)
    pairing = Pairing()
    line = "; ".join(f"> publish q1 i{number}" for number in (4, 3, 2, 1))
    pairing.add(decode(of_events(Dialog().say(line).events)))
    assert (pairing.forgotten, pairing.finish()["packet_id"].to_pylist()) == (2, [2, 1])


def test_a_capture_may_begin_to_count_anew() -> None:
    """What is open is in front of a close in the next capture, whatever its records were."""
    said = Dialog(record=100).say("> publish q1 i1")
    pairing = Pairing()
    pairing.add(decode(of_events(said.events)))
    found = pairing.add(decode(of_events([])), [Close(key(said.ends), 3)])
    assert found["outcome"].to_pylist() == ["unfinished"]


def test_only_what_may_continue_elsewhere_is_shared() -> None:
    """Of messages that end, nothing is; of one left open the close is; of an ack without a message, the ack."""
    talks, _ = made_up(300)
    said = Dialog(2).say("> connect id=a; > publish q1 i1").closes(None, "RST")
    asks = Dialog(3).say("> connect id=b; < puback i9")
    for events, count, left in ((talks[0].events, 0, []), (said.events, 0, ["a"]), (asks.events, 1, [])):
        frames = of_events(events)
        _, shared = ApartPairing().add(decode(frames), closes(frames, Closings()))
        assert shared.packets.count == count
        assert [event.client for event in shared.events if event.left] == left


def test_a_reset_ends_what_is_shared() -> None:
    """After an ack that may resume a message, its identifier is shared until the connection ends, and no longer."""
    talk, apart = Dialog().say("> connect; < puback i9; > publish q1 i9"), ApartPairing()
    talk.closes(None, "RST").say(f"> {TWO}")
    counts = []
    for events in (talk.events[:2], talk.events[2:4], talk.events[4:]):
        frames = of_events(events)
        counts.append(apart.add(decode(frames), closes(frames, Closings()))[1].packets.count)
    assert counts == [1, 1, 0]


def test_exchanges_are_those_that_were_made() -> None:
    """Thousands of messages that are settled, lost, sent again or refused, whatever the batches."""
    talks, made = made_up(3000)
    events = sorted((event for talk in talks for event in talk.events), key=lambda event: event.record)
    for cuts in ([], [17, 900, 901, 4000]):
        found = paired(events, cuts)
        assert Counter((row["qos"], row["outcome"], row["dups"]) for row in found) == made
    assert sum(row["latency_us"] for row in found if row["outcome"] == "complete" and not row["dups"]) > 0


def made_up(messages: int) -> tuple[list[Dialog], Counter[tuple[int, str, int]]]:
    """Return messages of eight clients, and how many came to which end."""
    random, made = Random(5), Counter[tuple[int, str, int]]()
    talks = [Dialog(number) for number in range(1, 9)]
    for number in range(messages):
        talk, qos = talks[number % 8], random.choice((1, 2))
        talk.record, talk.time = number * 10, START + number * 10 * MS
        said = f"> publish q{qos} i=$i t=t p=1"
        fate = random.choice(("complete", "complete", "unfinished", "refused"))
        dups = random.choice((0, 0, 1, 2))
        talk.say(said + f"; {said} d1" * dups, i=(i := number // 8 + 1))
        made[qos, fate, dups] += 1
        if fate != "unfinished":
            answer = "puback" if qos == 1 else "pubrec"
            talk.say(f"< {answer} i=$i c={'87' if fate == 'refused' else '00'}", i=i)
        if fate == "complete" and qos == 2:
            talk.say("> pubrel i=$i; < pubcomp i=$i", i=i)
    return talks, made
