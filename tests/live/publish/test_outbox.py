"""What an outbox keeps, and what comes of it when the program dies at any point."""

import os
import random
import shutil
import sqlite3
import stat
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.live.publish.outbox import Outbox, OutboxError
from mqttpub.live.publish.sender import PUBACK, PUBCOMP, PUBREC, OutgoingMessage, Publication
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version

V5 = Version.V5


def messages(*payloads: bytes | int, qos: int = 1) -> list[Publication]:
    writer = PublishWriter(Publish(topic="a", qos=qos), V5)
    return [Publication(writer, payload if isinstance(payload, bytes) else b"%d" % payload) for payload in payloads]


def begin(message: Publication, packet_id: int) -> OutgoingMessage:
    return OutgoingMessage(message, packet_id, 0.0)


def test_messages_come_back_in_order(tmp_path: Path) -> None:
    path = str(tmp_path / "outbox")
    with Outbox(path) as outbox:
        outbox.claim("me", V5)
        assert [each.token for each in outbox.add(messages(b"x", b"y"))] == [1, 2]
    with Outbox(path) as outbox:
        assert outbox.client_id == "me"
        assert [kept.packet.payload for kept in outbox.kept(V5, begun=False)] == [b"x", b"y"]
        assert list(outbox.outgoing(V5)) == []


@pytest.mark.parametrize(("qos", "released", "awaits"), [(1, False, PUBACK), (2, False, PUBREC), (2, True, PUBCOMP)])
def test_an_exchange_resumes_from_what_was_noted_last(qos: int, released: bool, awaits: int, tmp_path: Path) -> None:
    path = str(tmp_path / "outbox")
    with Outbox(path) as outbox:
        (message,) = outbox.add(messages(b"x", qos=qos))
        exchange = begin(message, 77)
        outbox.note([exchange], [], [])
        if released:
            outbox.note([], [exchange], [])
    with Outbox(path) as outbox:
        (again,) = outbox.outgoing(V5)
        assert (again.packet_id, again.awaits, again.token) == (77, awaits, 1)
        assert again.may_repeat == (not released)
        outbox.note([], [], [again])
        assert outbox.count() == 0


def test_a_qos_0_message_that_may_have_been_sent_is_not_sent_again(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        (message,) = outbox.add(messages(b"x", qos=0))
        outbox.note([OutgoingMessage(message, None, 0.0)], [], [])
        assert list(outbox.outgoing(V5)) == []
        assert outbox.count() == 0


def test_doubtful_messages_stay_until_they_are_renewed(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        (message,) = outbox.add(messages(b"x", qos=2))
        exchange = begin(message, 5)
        outbox.note([exchange], [], [])
        outbox.doubt([exchange])
        assert list(outbox.outgoing(V5)) == []
        assert list(outbox.kept(V5, begun=False)) == []
        assert outbox.renew_doubtful() == 1
        assert [kept.number for kept in outbox.kept(V5, begun=False)] == [1]


def test_only_the_doubtful_messages_are_renewed_and_they_lose_their_packet_identifiers(tmp_path: Path) -> None:
    path = str(tmp_path / "outbox")
    with Outbox(path) as outbox:
        every = [begin(each, 10 + at) for at, each in enumerate(outbox.add(messages(*b"abcd", qos=2)))]
        outbox.note(every, [every[1]], [])
        outbox.doubt(every[2:])
        assert outbox.renew_doubtful() == 2
        assert outbox.renew_doubtful() == 0
    with Outbox(path) as outbox:
        assert [(each.token, each.packet_id, each.awaits) for each in outbox.outgoing(V5)] == [
            (1, 10, PUBREC), (2, 11, PUBCOMP),
        ]  # fmt: skip
        assert [(each.number, each.packet_id) for each in outbox.kept(V5, begun=False)] == [(3, None), (4, None)]


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
        with pytest.raises(OutboxError, match="belongs to Client Identifier 'me', not 'you'"):
            outbox.claim("you", V5)
        with pytest.raises(OutboxError, match=r"belongs to MQTT 5\.0, not 3\.1\.1"):
            outbox.claim("me", Version.V311)


def test_messages_added_while_reading_are_not_read(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        outbox.add(messages(*range(1500)))
        kept = outbox.kept(V5, begun=False)
        outbox.add(messages(b"x"))
        first = next(kept)
        outbox.add(messages(b"y"))
        assert [each.number for each in (first, *kept)] == list(range(1, 1501))


# the file


def letter(path: Path) -> None:
    path.write_text("Dear Sir or Madam, this is not a database at all, and it is long enough to be sure. " * 20)


def another_database(path: Path) -> None:
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE message (text)")
    base.close()


def of_another_version(path: Path) -> None:
    Outbox(str(path)).close()
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 3")
    base.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (letter, "'{}' is not an outbox, or is incomplete: file is not a database; name another file"),
        (another_database, "'{}' is a database, but not an outbox of this program; name another file"),
        (of_another_version, "'{}' was written by another version of the program"),
        (Path.mkdir, "'{}' cannot be used as an outbox: it is not a regular file"),
        (os.mkfifo, "'{}' cannot be used as an outbox: it is not a regular file"),
        (lambda path: path.symlink_to(path.parent / "none" / "ob"),
         "'{}' cannot be used as an outbox: No such file or directory"),
    ],
)  # fmt: skip
def test_another_file_is_refused_and_left_as_it_is(make: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make(path)
    regular = path.is_file()
    if regular:
        path.chmod(0o644)
    before = path.read_bytes() if regular else b""
    with pytest.raises(OutboxError) as caught:
        Outbox(str(path))
    assert str(caught.value) == said.format(path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    if regular:
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (before, 0o644)


@pytest.mark.parametrize("path", ["", ":memory:", "/proc/outbox", "/no/such/folder/outbox", "a\0b"])
def test_a_path_that_no_file_can_have_is_refused(path: str) -> None:
    with pytest.raises(OutboxError, match=r"is not the name of a file$|cannot be used as an outbox: \w"):
        Outbox(path)


def others_may_read(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.stat().st_mode & 0o077]


def test_nobody_else_can_read_the_messages(tmp_path: Path) -> None:
    path = tmp_path / "outbox"

    def lazily() -> Any:
        # While a change is made, the journal has what the file had before.
        for message in messages(*range(100)):
            seen.extend(each.name for each in tmp_path.iterdir())
            assert others_may_read(tmp_path) == []
            yield message

    seen: list[str] = []
    before = os.umask(0)
    try:
        with Outbox(str(path)) as outbox:
            outbox.add(lazily())
            outbox.add(lazily())
        assert others_may_read(tmp_path) == []
        path.chmod(0o664)
        with Outbox(str(path)):
            assert others_may_read(tmp_path) == []
    finally:
        os.umask(before)
    assert set(seen) == {"outbox", "outbox-journal"}


def test_an_outbox_that_cannot_be_opened_can_be_once_it_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "outbox")
    with Outbox(path) as outbox:
        outbox.add(messages(b"x"))
        with pytest.raises(OutboxError, match=r"outbox' is in use by another program$"):
            Outbox(path)
    with Outbox(path) as outbox:
        assert outbox.count() == 1


def contents(path: Path, damaged: list[int] | None = None) -> tuple[Any, ...]:
    """Return what an outbox holds; the numbers of its damaged messages are added to `damaged`."""
    with Outbox(str(path)) as outbox:
        if damaged is not None:
            damaged += outbox.damaged
        stored = [tuple(each) for each in outbox.kept(V5, begun=False)]
        begun = [
            (each.token, each.packet_id, each.awaits, each.publication if each.may_repeat else None)
            for each in outbox.outgoing(V5)
        ]
        again = outbox.renew_doubtful()
        return outbox.client_id, outbox.place("1:2"), stored, [each[:3] for each in begun], again, outbox.count()


@pytest.mark.slow
def test_a_damaged_outbox_is_never_taken_for_an_intact_one(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole", tmp_path / "damaged"
    with Outbox(str(whole)) as outbox:
        outbox.claim("me", V5)
        numbered = outbox.add(messages(*(b"payload %d" % number for number in range(400)), qos=2), ("1:2", 4000))
        begun = [begin(each, each.token) for each in numbered[:300]]
        outbox.note(begun, begun[:100], begun[200:250])
        outbox.doubt(begun[150:200])
    data = whole.read_bytes()
    shutil.copy(whole, path)
    expected = contents(path)
    chance = random.Random(7)
    refused = []
    passed_over = 0
    for _ in range(200):
        damaged = bytearray(data)
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                damaged[at] ^= 1 << chance.randrange(8)
            case 1:
                length = min(chance.randrange(1, 500), len(data) - at)
                damaged[at : at + length] = chance.randbytes(length)
            case 2:
                length = min(chance.randrange(1, 500), len(data) - at)
                damaged[at : at + length] = bytes(length)
            case _:
                # Nothing at all is a new outbox.
                del damaged[max(at, 1) :]
        path.write_bytes(damaged)
        named: list[int] = []
        try:
            assert contents(path, named) == without(named, expected)
        except OutboxError as error:
            refused.append(str(error))
        passed_over += bool(named)
    assert 60 < len(refused) < 170
    assert passed_over > 10
    assert [each for each in refused if f"'{path}' " not in each] == []


def without(numbers: list[int], held: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what an outbox would hold if some messages were passed over; 151 to 200 are those in doubt."""
    client_id, place, stored, begun, again, count = held
    stored, begun = ([each for each in some if each[0] not in numbers] for some in (stored, begun))
    return client_id, place, stored, begun, again - len(set(numbers) & set(range(151, 201))), count


def points_a_free_page_at_the_head(data: bytes) -> bytes:
    """Damage that reading does not meet: the next message would be written over the head."""
    size, first = int.from_bytes(data[16:18]), int.from_bytes(data[32:36])
    leaf = (first - 1) * size + 8
    return data[:leaf] + (2).to_bytes(4) + data[leaf + 4 :]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (points_a_free_page_at_the_head, "2nd reference to page 2"),
        (lambda data: data.replace(b"TABLE message", b"\x812BLE message"), "its tables are not those of an outbox"),
    ],
)
def test_damage_between_the_messages_is_found(damage: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    with Outbox(str(path)) as outbox:
        kept = outbox.add(messages(*(bytes(3000) for _ in range(9))))
        outbox.note([], [], [begin(each, 1) for each in kept[3:]])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(OutboxError) as caught:
        Outbox(str(path))
    assert str(caught.value).startswith(f"the outbox '{path}' is damaged: ")
    assert f"{said}; move it away" in str(caught.value)


def test_a_message_more_or_less_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    for statement, said in (
        ("DELETE FROM message WHERE number = 2", "it holds 2 messages, but 3 were stored"),
        ("UPDATE head SET client_id = CAST('you' AS BLOB)", "its head was changed"),
        ("DELETE FROM head", "its head was changed"),
        ("CREATE TABLE more (x)", "its tables are not those of an outbox"),
    ):
        path.unlink(missing_ok=True)
        with Outbox(str(path)) as outbox:
            outbox.claim("me", V5)
            kept = outbox.add(messages(b"a", b"b", b"c"))
            outbox.note([begin(kept[2], 7)], [], [])
        base = sqlite3.connect(path, isolation_level=None)
        base.execute(statement)
        base.close()
        with pytest.raises(OutboxError) as caught:
            Outbox(str(path))
        assert str(caught.value) == (
            f"the outbox '{path}' is damaged: {said}; move it away to start a new one "
            "(sqlite3 FILE .recover shows what is left of it)"
        )


@pytest.mark.parametrize(
    ("statement", "may_resume"),
    [
        ("packet = CAST(replace(packet, 'c', 'd') AS BLOB) WHERE number = 2", True),
        ("packet_id = 9 WHERE number = 2", False),
        ("seal = seal + 1 WHERE number = 2", True),
        ("state = 3 WHERE number = 2", False),
        ("state = 0 WHERE number = 3", False),
    ],
)
def test_a_message_that_was_changed_is_passed_over_and_stays(statement: str, may_resume: bool, tmp_path: Path) -> None:
    path = tmp_path / "outbox"
    with Outbox(str(path)) as outbox:
        kept = outbox.add(messages(b"a", b"c", b"e"))
        outbox.note([begin(kept[2], 7)], [], [])
    base = sqlite3.connect(path, isolation_level=None)
    base.execute(f"UPDATE message SET {statement}")
    base.close()
    changed = int(statement[-1])
    for _ in range(2):
        with Outbox(str(path)) as outbox:
            assert (outbox.damaged, outbox.may_resume, outbox.waiting()) == ([changed], may_resume, (2, 0))
            assert outbox.renew_doubtful() == 0
            sendable = [each.number for each in outbox.kept(V5, begun=False)]
            sendable += [each.token for each in outbox.outgoing(V5)]
            assert sendable == [each for each in (1, 2, 3) if each != changed]
            assert outbox.count() == 3


def test_many_messages_are_read_in_pieces(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        outbox.add(messages(*(str(number).encode() for number in range(2500))))
        numbers = [kept.number for kept in outbox.kept(V5, begun=False)]
    assert numbers == list(range(1, 2501))


def test_long_messages_are_read_in_shorter_pieces(tmp_path: Path) -> None:
    with Outbox(str(tmp_path / "outbox")) as outbox:
        outbox.add(messages(*[bytes(200_000)] * 100))
        tracemalloc.start()
        try:
            assert [kept.number for kept in outbox.kept(V5, begun=False)] == list(range(1, 101))
            assert tracemalloc.get_traced_memory()[1] < 5_000_000
        finally:
            tracemalloc.stop()
