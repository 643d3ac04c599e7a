"""What an outbox keeps, and what comes of it when the program dies at any point."""

from pathlib import Path

import pytest

from mqttpub.codec.publish import PublishWriter
from mqttpub.live.flows import PUBACK, PUBCOMP, PUBREC, Exchange, Message
from mqttpub.live.outbox import Outbox, OutboxError
from mqttpub.spec.packets import Publish
from mqttpub.spec.terms import Version

V5 = Version.V5


def messages(*payloads: bytes, qos: int = 1) -> list[Message]:
    writer = PublishWriter(Publish(topic="a", qos=qos), V5)
    return [Message(writer, payload) for payload in payloads]


def begin(message: Message, packet_id: int) -> Exchange:
    return Exchange(message, packet_id, {1: PUBACK, 2: PUBREC}[message.writer.qos], 0.0)


def test_messages_come_back_in_order(tmp_path: Path) -> None:
    path = str(tmp_path / "outbox")
    with Outbox(path) as outbox:
        outbox.claim("me", V5)
        assert [each.token for each in outbox.add(messages(b"x", b"y"))] == [1, 2]
    with Outbox(path) as outbox:
        assert outbox.client_id == "me"
        assert [kept.packet.payload for kept in outbox.kept(V5, begun=False)] == [b"x", b"y"]
        assert list(outbox.exchanges(V5)) == []


@pytest.mark.parametrize(("qos", "released", "awaits"), [(1, False, PUBACK), (2, False, PUBREC), (2, True, PUBCOMP)])
def test_an_exchange_goes_on_from_what_was_noted_last(qos: int, released: bool, awaits: int, tmp_path: Path) -> None:
    path = str(tmp_path / "outbox")
    with Outbox(path) as outbox:
        (message,) = outbox.add(messages(b"x", qos=qos))
        exchange = begin(message, 77)
        outbox.note([exchange], [], [])
        if released:
            outbox.note([], [exchange], [])
    with Outbox(path) as outbox:
        (again,) = outbox.exchanges(V5)
        assert (again.packet_id, again.awaits, again.token) == (77, awaits, 1)
        assert (again.message is None) == released
        outbox.note([], [], [again])
        assert outbox.count() == 0


def test_a_qos_0_message_that_may_have_been_sent_is_not_sent_again(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        (message,) = outbox.add(messages(b"x", qos=0))
        outbox.note([Exchange(message, None, 0, 0.0)], [], [])
        assert list(outbox.exchanges(V5)) == []
        assert outbox.count() == 0


def test_doubtful_messages_stay_until_they_are_renewed(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        (message,) = outbox.add(messages(b"x", qos=2))
        exchange = begin(message, 5)
        outbox.note([exchange], [], [])
        outbox.doubt([exchange])
        assert list(outbox.exchanges(V5)) == []
        assert list(outbox.kept(V5, begun=False)) == []
        assert outbox.renew_doubtful() == 1
        assert [kept.number for kept in outbox.kept(V5, begun=False)] == [1]


def test_the_place_in_the_input_is_kept_with_the_messages(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        outbox.add(messages(b"x"), ("1:2", 40))
        assert outbox.place("1:2") == 40
        assert outbox.place("1:3") == 0
        outbox.forget_place()
        assert outbox.place("1:2") == 0


def test_an_outbox_belongs_to_one_client_and_version(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        outbox.claim("me", V5)
        outbox.claim("me", V5)
        with pytest.raises(OutboxError, match="belongs to client_id 'me', not 'you'"):
            outbox.claim("you", V5)
        with pytest.raises(OutboxError, match=r"belongs to version '5\.0', not '3\.1\.1'"):
            outbox.claim("me", Version.V311)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "letter"
    path.write_text("Dear Sir or Madam, this is no database at all, and it is long enough to be sure. " * 20)
    with pytest.raises(OutboxError, match="cannot be used as an outbox"):
        Outbox(str(path))


def test_many_messages_are_read_in_pieces(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        outbox.add(messages(*(str(number).encode() for number in range(2500))))
        numbers = [kept.number for kept in outbox.kept(V5, begun=False)]
    assert numbers == list(range(1, 2501))
