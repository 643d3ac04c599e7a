"""Messages from the broker: acknowledged once, and never before a store has them."""

import pytest

from mqttpub.live.failures import PeerFault
from mqttpub.live.incoming import read
from mqttpub.live.net.target import Target
from mqttpub.live.receive import Receiver
from mqttpub.live.session import Session
from mqttpub.spec.packets import Connect, Subscribe, Subscription
from mqttpub.spec.versions import Version
from tests.fakes import Peer, answering, scripted

V5 = Version.V5
SUBSCRIBE = Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=2),))
QOS_1, QOS_2, PUBREL = "32 06 00 01 61 00 07 00", "34 06 00 01 61 00 08 00", "62 02 00 08"


class StoreLog:
    """A store that notes what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def connected(self, session_present: bool) -> None:
        self.calls.append(f"connected {session_present}")

    def message(self, time_ns: int, data: bytes) -> None:
        self.calls.append(f"message {data[0]:02x}")

    def release(self, time_ns: int, packet_id: int) -> bool:
        self.calls.append(f"release {packet_id}")
        return packet_id == 8

    def flush(self) -> None:
        self.calls.append("flush")


def receive(receiver: Receiver, *packets: str) -> None:
    for each in packets:
        data = bytes.fromhex(each)
        receiver.receive(read(data, receiver.version), data, 0)


def wait_for_messages(session: Session) -> None:
    with session:
        session.open()
        while True:
            session.step("a message")


def test_a_store_is_flushed_before_the_acknowledgements_are_returned() -> None:
    log = StoreLog()
    receiver = Receiver(V5, log)
    receive(receiver, QOS_1, QOS_2)
    assert log.calls == ["message 32", "message 34"]
    assert receiver.take_output().hex(" ") == "40 02 00 07 50 02 00 08"
    assert log.calls[2:] == ["flush"]
    assert receiver.take_output() == b""


def test_messages_above_receive_maximum_are_kept_where_a_store_has_them() -> None:
    fault = PeerFault("the broker sent PUBLISH with 1 unacknowledged, but our Receive Maximum is 1", b"")
    receiver = Receiver(V5, StoreLog())
    receiver.exceed(fault)
    assert receiver.excess is fault
    with pytest.raises(PeerFault, match="Receive Maximum is 1"):
        Receiver(V5).exceed(fault)


@pytest.mark.parametrize(("version", "answer"), [(V5, "70 03 00 08 92"), (Version.V311, "70 02 00 08")])
def test_the_pubrel_of_an_unknown_message_is_answered_as_the_version_allows(version: Version, answer: str) -> None:
    receiver = Receiver(version)
    receive(receiver, PUBREL)
    assert receiver.take_output().hex(" ") == answer


def test_a_store_knows_the_messages_of_earlier_connections() -> None:
    receiver = Receiver(V5, StoreLog())
    receive(receiver, PUBREL, "62 02 00 09")
    assert receiver.take_output().hex(" ") == "70 02 00 08 70 03 00 09 92"


def test_a_qos_2_message_counts_against_receive_maximum_until_its_pubrel() -> None:
    receiver = Receiver(V5)
    receive(receiver, QOS_1, QOS_2, QOS_2)
    assert receiver.unanswered == 2
    receiver.take_output()
    assert receiver.unanswered == 1
    receive(receiver, PUBREL)
    assert receiver.unanswered == 0


def test_a_session_that_publishes_nothing_stores_and_acknowledges() -> None:
    seen: list[str] = []

    log = StoreLog()
    with scripted(answering("90 04 00 01 00 02" + QOS_1, "30 04 00 01 61 00", "", seen=seen)) as port:
        target = Target("127.0.0.1", port, connect=Connect(client_id="me"))
        with Session(target, receiver=Receiver(V5, log), timeout_s=5) as session:
            session.open()
            assert session.subscribe(SUBSCRIBE) == (2,)
            while "message 30" not in log.calls:
                session.step("a message")
            session.close()
    assert seen[1:] == ["40 02 00 07", "e0 00"]
    assert log.calls == ["connected False", "message 32", "flush", "message 30", "flush"]


def test_after_disconnect_nothing_is_stored_that_cannot_be_acknowledged() -> None:
    log = StoreLog()
    with scripted(answering(QOS_1)) as port:
        target = Target("127.0.0.1", port, connect=Connect(client_id="me"))
        with Session(target, receiver=Receiver(V5, log), timeout_s=5) as session:
            session.open()
            session.close()
    assert log.calls == ["connected False"]


def test_an_acknowledgement_in_a_session_that_publishes_nothing_is_a_fault() -> None:
    def script(peer: Peer) -> None:
        peer.accept()
        peer.send("40 02 00 01")
        peer.wait()

    with scripted(script) as port:
        target = Target("127.0.0.1", port, connect=Connect(client_id="me"))
        with pytest.raises(PeerFault, match="sent PUBACK, though nothing was published"):
            wait_for_messages(Session(target, timeout_s=5))
