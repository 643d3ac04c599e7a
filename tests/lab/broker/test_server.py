"""The embedded broker on its sockets."""

import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.lab.broker.limits import Limits
from mqttpub.lab.broker.server import Broker
from mqttpub.spec.packets import (
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Will,
)
from tests.lab.broker.test_connection import REFUSED
from tests.lab.peer import V5, V311, prop, props
from tests.lab.sockets import Wire, alive, eventually
from tests.strategies import encoded


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker for all tests here that do not need their own."""
    with Broker() as running:
        yield running


@pytest.fixture(scope="module")
def victim() -> Iterator[Broker]:
    """A broker for hostile bytes, and what they left behind; at the end it has not failed."""
    failures: list[str] = []
    with Broker(on_event=lambda kind, client_id, text: failures.extend([text] * ("failed" in text))) as running:
        yield running
    assert failures == []


def wish(*filters: str, qos: int = 0) -> Subscribe:
    """Return a SUBSCRIBE."""
    return Subscribe(packet_id=1, subscriptions=tuple(Subscription(filter=each, qos=qos) for each in filters))


# where it listens


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "0", "192.0.2.1", "10.0.0.1", "2001:db8::1", "255.255.255.255"])
def test_it_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*' is .*, but the embedded broker listens on loopback addresses only$"):
        Broker(host)


@pytest.mark.parametrize("host", ["no such name", "b\u00fccher.example", "a\0b"])
def test_a_host_must_be_known(host: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be resolved|null"):
        Broker(host)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_has_a_range(port: int) -> None:
    with pytest.raises(ValueError, match=rf"^{port} is not a port \(0 to 65535\)$"):
        Broker(port=port)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "127.1", "localhost"])
def test_loopback_has_many_names(host: str) -> None:
    with Broker(host) as broker, Wire(broker.port, host=broker.host) as wire:
        assert broker.host.startswith("127.")
        wire.connect()


def test_loopback_of_ipv6() -> None:
    with Broker("::1") as broker, Wire(broker.port, host="::1") as wire:
        wire.connect()


def test_a_port_in_use_is_an_error_at_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        broker = Broker(port=taken.getsockname()[1])
        for method in (broker.open, broker.start, broker.serve):
            with pytest.raises(OSError, match="in use"):
                method()
        broker.stop()


# its life


def test_the_port_is_known_once_it_is_open() -> None:
    broker = Broker()
    assert broker.port == 0
    broker.open()
    assert broker.port > 0
    broker.open()
    broker.stop()
    broker.stop()


def test_it_runs_in_one_thread_however_many_clients_there_are() -> None:
    before = threading.active_count()
    with Broker() as broker, ExitStack() as stack:
        assert broker.start() is broker
        for index in range(20):
            stack.enter_context(Wire(broker.port)).connect(str(index))
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_it_tells_its_clients_when_it_stops() -> None:
    with Broker() as broker, ExitStack() as stack:
        new, old, none = (stack.enter_context(Wire(broker.port, version)) for version in (V5, V311, V5))
        new.connect("new", will=Will(topic="w"))
        new.ask(wish("w"))
        old.connect("old", will=Will(topic="w"))
        broker.stop()
        assert [each.reason_code for each in new.rest()] == [0x8B]
        assert old.rest() == []
        assert none.rest() == []


def test_it_may_be_started_again_and_remembers_sessions() -> None:
    broker = Broker()
    more: dict[str, Any] = {"client_id": "c", "clean_start": False, "properties": props(session_expiry_interval=100)}
    for present in (False, True):
        with broker, Wire(broker.port) as wire:
            port = broker.port
            assert wire.ask(Connect(**more)).session_present is present
    assert broker.port == port


def test_it_serves_until_something_is_true() -> None:
    seen: list[bool] = []
    broker = Broker(on_event=lambda kind, client_id, text: seen.append(kind == "connect"))
    broker.open()
    with Wire(broker.port) as wire:
        wire.send(Connect(client_id="c"))
        broker.serve(lambda: any(seen))
        assert isinstance(wire.next(), Connack)
        assert wire.next().reason_code == 0x8B


def test_serving_is_ended_from_another_thread() -> None:
    broker = Broker()
    broker.open()
    stopper = threading.Timer(0.05, broker.stop)
    stopper.start()
    broker.serve()
    stopper.join()


def test_it_may_be_stopped_by_an_event() -> None:
    own = Broker(on_event=lambda kind, client_id, text: own.stop())
    with own, Wire(own.port) as wire:
        wire.send(Connect(client_id="c"))
        assert isinstance(wire.next(), Connack)
        assert wire.next().reason_code == 0x8B
        assert wire.next() is None


def test_idle_clients_cost_nothing() -> None:
    waits: list[float | None] = []
    with Broker() as broker, ExitStack() as stack:
        select = broker.selector.select

        def noted(timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            waits.append(timeout)
            return select(timeout)

        broker.selector.select = noted  # type: ignore[method-assign]
        for index in range(20):
            stack.enter_context(Wire(broker.port)).connect(str(index))
        assert eventually(lambda: waits and (waits[-1] is None or waits[-1] > 10)), waits[-1]


def test_events_are_reported() -> None:
    events: list[tuple[str, str, str]] = []
    with Broker(on_event=lambda *event: events.append(event)) as broker:
        with Wire(broker.port) as wire:
            wire.connect("me").send(wish("a/#", qos=1), Publish(topic="a/b", payload=b"hi"), b"\0\0").rest()
        with Wire(broker.port) as wire:
            wire.send(b"\xc0\0").rest()
        with Wire(broker.port) as wire:
            wire.connect("you")
        assert eventually(lambda: len(events) == 8)
    assert events == [
        ("connect", "me", "MQTT 5.0, clean, keep alive 60 s"),
        ("subscribe", "me", "a/#, 0x01"),
        ("publish", "me", "a/b, QoS 0, 2 bytes"),
        ("refusal", "me", "packet type 0 is reserved (MQTT5-2.1.2/type)"),
        ("disconnect", "me", "packet type 0 is reserved (MQTT5-2.1.2/type)"),
        ("refusal", "", "the first packet has type 12, but must be a CONNECT"),
        ("connect", "you", "MQTT 5.0, clean, keep alive 60 s"),
        ("disconnect", "you", "the client closed the connection"),
    ]


def test_it_loads_quickly() -> None:
    code = "import sys, mqttpub.lab.broker.server; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"asyncio", "dataclasses", "inspect", "encodings.idna", "paho", "rich", "click", "json"} & set(loaded)


# connections


def test_packets_need_not_come_in_whole_segments(broker: Broker) -> None:
    with Wire(broker.port) as wire:
        for byte in bytes.fromhex("100e 00044d515454 05 02 003c 00 0001 63  c000"):
            wire.send(bytes((byte,)))
        assert isinstance(wire.next(), Connack)
        assert wire.next() == Pingresp()


@pytest.mark.slow
def test_many_packets_come_in_one_segment(broker: Broker) -> None:
    many = [Publish(topic="a", qos=1, packet_id=index) for index in range(1, 3001)]
    with Wire(broker.port) as wire:
        wire.connect()
        sender = threading.Thread(target=wire.send, args=(wish("a", qos=1), *many, Disconnect()))
        sender.start()
        got = wire.rest()
        sender.join()
    assert sum(isinstance(each, Puback) for each in got) == 3000
    assert [each.packet_id for each in got if isinstance(each, Publish)] == list(range(1, 1001))


@pytest.mark.parametrize(("sent", "code"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_the_reason_is_sent_before_the_connection_closes(broker: Broker, sent: bytes, code: int) -> None:
    with Wire(broker.port) as wire:
        wire.connect()
        assert [each.reason_code for each in wire.send(sent, bytes(200_000)).rest()] == [code]


def test_a_client_need_not_close_first() -> None:
    with Broker(limits=Limits(linger=0.1)) as broker, Wire(broker.port) as wire:
        wire.connect().send(Disconnect())
        assert wire.rest() == []
        assert eventually(lambda: not broker.clients)


def test_the_last_packets_arrive_even_if_much_was_waiting() -> None:
    with Broker() as broker, Wire(broker.port, small=True) as slow:
        slow.connect("slow", properties=props(session_expiry_interval=9)).ask(wish("t"))
        with Wire(broker.port) as busy:
            busy.connect("busy")
            for _ in range(8):
                busy.send(Publish(topic="t", payload=bytes(1_000_000)))
            busy.ask(Pingreq())
        slow.send(b"\0\0")
        *messages, last = slow.rest()
    assert [len(each.payload) for each in messages] == [1_000_000] * 8
    assert last.reason_code == 0x81


def test_a_client_that_does_not_read_is_closed_and_others_are_served() -> None:
    with Broker(limits=Limits(output=4 << 20, linger=0.1)) as broker, Wire(broker.port, small=True) as lazy:
        lazy.connect("lazy").ask(wish("t"))
        with Wire(broker.port) as busy:
            busy.connect("busy")
            for _ in range(16):
                assert busy.ask(Publish(topic="t", qos=1, packet_id=1, payload=bytes(1_000_000)))
            assert eventually(lambda: len(broker.clients) == 1)
            assert busy.ask(Pingreq()) == Pingresp()


def flood(wire: Wire) -> NoReturn:
    """Send for ever."""
    while True:
        wire.send(bytes(100_000))


def test_a_client_that_never_stops_sending_is_closed() -> None:
    with Broker(limits=Limits(linger=0.1)) as broker, Wire(broker.port) as wire:
        with pytest.raises(OSError, match=r"reset|pipe"):
            flood(wire)
        assert alive(broker)


def test_connections_have_a_limit() -> None:
    with Broker(limits=Limits(clients=2)) as broker:
        with Wire(broker.port) as first, Wire(broker.port) as second:
            first.connect("1")
            second.connect("2")
            with Wire(broker.port) as third:
                assert third.next() is None
        assert eventually(lambda: not broker.clients)
        assert alive(broker)


@pytest.mark.slow
def test_time_passes_for_clients_too() -> None:
    with Broker(limits=Limits(patience=0.1)) as broker, Wire(broker.port) as silent, Wire(broker.port) as wire:
        start = time.monotonic()
        wire.connect(keep_alive=1)
        assert silent.rest() == []
        assert wire.next().reason_code == 0x8D
        assert time.monotonic() - start > 1.4


def test_a_reset_is_a_lost_connection(broker: Broker) -> None:
    with Wire(broker.port) as watcher:
        watcher.connect("watcher").ask(wish("w"))
        with Wire(broker.port) as wire:
            wire.connect("c", will=Will(topic="w"))
            wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert watcher.next().topic == "w"


# hostile bytes


def survives(broker: Broker, *pieces: bytes) -> None:
    """Send pieces to a broker and see that it goes on."""
    with Wire(broker.port) as wire:
        try:
            for piece in pieces:
                wire.send(piece)
            wire.sock.shutdown(socket.SHUT_WR)
            while wire.sock.recv(65536):
                pass
        except OSError:
            pass
    assert alive(broker)


CONNECT = bytes.fromhex("100e 00044d515454 05 02 003c 00 0001 63")


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.binary(max_size=200), max_size=4), connected=st.booleans())
def test_random_bytes_do_no_harm(victim: Broker, pieces: list[bytes], connected: bool) -> None:
    survives(victim, *([CONNECT] if connected else []), *pieces)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(packets=st.lists(encoded(V5, valid=False), max_size=6), spoilt=st.integers(0, 400), bit=st.integers(0, 7))
def test_strange_packets_do_no_harm(victim: Broker, packets: list[bytes], spoilt: int, bit: int) -> None:
    data = bytearray(b"".join((CONNECT, *packets)))
    if spoilt < len(data):
        data[spoilt] ^= 1 << bit
    survives(victim, bytes(data))


def test_a_fault_of_ours_ends_one_connection() -> None:
    def fail(kind: str, client_id: str, text: str) -> None:
        if kind == "publish":
            raise LookupError("so it is")

    with Broker(on_event=fail) as broker, Wire(broker.port) as wire:
        last = wire.connect().ask(Publish(topic="a"))
        assert (last.reason_code, prop(last, "reason_string")) == (0x80, "the broker failed: LookupError('so it is')")
        assert alive(broker)


def test_a_declared_length_takes_no_memory(broker: Broker) -> None:
    with ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(Wire(broker.port)).connect("").send(b"\x30\xff\xff\x3f\0\1a")
        assert alive(broker)
        held = sum(len(client.connection.stream.pending) for client in list(broker.clients.values()))
        assert held < 1000


def test_a_topic_may_be_any_text(broker: Broker) -> None:
    with Wire(broker.port) as wire:
        wire.connect()
        assert isinstance(wire.ask(wish("#")), Suback)
        assert wire.ask(Publish(topic="\U0010ffff/\u202e", payload=bytes(range(256)))).payload == bytes(range(256))
