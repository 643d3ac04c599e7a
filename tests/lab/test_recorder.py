"""What `--capture` writes of the bytes of a connection, however they are cut."""

import io
import os
import stat
from pathlib import Path

import pytest

from mqttpub.capture.reading import events
from mqttpub.codec.encode import encode
from mqttpub.lab.recorder import CaptureRecorder
from mqttpub.live.net.dial import Route
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Auth, Connack, Connect, Publish
from mqttpub.spec.properties import AUTHENTICATION_DATA, AUTHENTICATION_METHOD
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, PacketSeen

C, S = Direction.CLIENT, Direction.SERVER
SECRET = b"s3cret!"
PROOF = (Property(AUTHENTICATION_METHOD.id, "M"), Property(AUTHENTICATION_DATA.id, SECRET))
CONNECT = encode(Connect(client_id="c", username="u", password=SECRET, properties=PROOF), Version.V5)
CONNACK = encode(Connack(properties=PROOF), Version.V5)
AUTH = encode(Auth(reason_code=0x18, properties=PROOF), Version.V5)
PUBLISH = encode(Publish(topic="a", payload=b"x" * 200), Version.V5)
SPOKEN = [(C, CONNECT), (S, AUTH), (C, AUTH), (S, CONNACK), (C, PUBLISH), (S, PUBLISH)]
ENDS = Route([], ("127.0.0.1", 50_000), ("127.0.0.1", 8883))


def recorded(path: Path, spoken: list[tuple[Direction, bytes]], *, size: int = 1 << 16, masks: bool = False) -> bytes:
    """Record what two ends say, so many bytes at a time, and return the file."""
    recorder = CaptureRecorder(str(path), masks=masks)
    connection = recorder.connection(Version.V5)
    connection.connected(ENDS)
    for direction, data in spoken:
        for at in range(0, len(data), size):
            connection.passed(1.0, direction, data[at : at + size])
    for end in (C, S):
        connection.closed(2.0, end, "FIN")
    recorder.close()
    assert not recorder.failed
    return path.read_bytes()


def packets(data: bytes) -> list[tuple[Direction | None, bytes]]:
    return [(each.direction, each.data) for each in events(io.BytesIO(data)) if isinstance(each, PacketSeen)]


@pytest.mark.parametrize("size", [1, 3, 7, 1 << 16])
def test_packets_are_read_as_they_passed_and_masked_ones_have_their_length(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    assert packets(recorded(path, SPOKEN, size=size)) == SPOKEN
    data = recorded(path, SPOKEN, size=size, masks=True)
    assert SECRET not in data
    assert packets(data) == [(end, packet.replace(SECRET, b"*" * len(SECRET))) for end, packet in SPOKEN]


@pytest.mark.parametrize("size", [1, 1 << 16])
@pytest.mark.parametrize("header", ["e0 10 00 0e", "30 12 00 01 61 0e", "40 12 00 01 10 0e"])
def test_a_secret_in_a_packet_that_must_not_have_one_is_masked_too(header: str, size: int, tmp_path: Path) -> None:
    packet = bytes.fromhex(f"{header} 15 00 01 4d 16 00 07") + SECRET
    assert SECRET not in recorded(tmp_path / "a.pcapng", [*SPOKEN, (C, packet)], size=size, masks=True)


def test_a_secret_behind_forged_bytes_is_masked_too(tmp_path: Path) -> None:
    for forged in (b"\x30\xff\xff\xff\xff\x7f", b"\x30\x7f\0", b"\x30\x7f\0\1a"):
        data = recorded(tmp_path / "a.pcapng", [(C, forged), (C, CONNECT), (C, AUTH)], masks=True)
        assert SECRET not in data


@pytest.mark.parametrize("cut", range(1, len(CONNECT)))
def test_a_packet_that_is_cut_off_reveals_no_secret(cut: int, tmp_path: Path) -> None:
    data = recorded(tmp_path / "a.pcapng", [(C, CONNECT[:cut])], masks=True)
    assert CONNECT[:1] + b"*" * (cut - 1) in data


def test_bytes_that_are_no_packets_are_kept_unless_they_may_hold_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    overlong = b"\xff\xff\xff\xff\x7f"
    assert b"\x30" + overlong + b"rest" in recorded(path, [(C, b"\x30" + overlong + b"rest")], masks=True)
    data = recorded(path, [(C, b"\x10" + overlong + SECRET)], masks=True)
    assert SECRET not in data
    assert b"\x10" + b"*" * 12 in data


def test_each_connection_ends_as_it_ended_and_one_that_was_lost_ends_with_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    recorder = CaptureRecorder(str(path), masks=True)
    connection = recorder.connection(Version.V5)
    for how in ("RST", ""):
        connection.connected(ENDS)
        connection.passed(1.0, C, PUBLISH)
        if how:
            connection.closed(2.0, S, how)
            connection.passed(2.0, C, PUBLISH)
    connection.connected(ENDS._replace(client=("127.0.0.1", 50_001)))
    connection.passed(3.0, C, PUBLISH)
    assert len(recorder._open) == 1
    found = list(events(io.BytesIO(path.read_bytes())))
    assert [each.ends.number for each in found if isinstance(each, PacketSeen)] == [1, 2, 3]
    assert [each.how for each in found if isinstance(each, Closed) and each.direction] == ["RST"]


def test_files_follow_one_another_and_each_is_read_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    recorder = CaptureRecorder(str(path), masks=True, file_bytes=2000)
    connection = recorder.connection(Version.V5)
    connection.connected(ENDS)
    connection.passed(1.0, C, CONNECT)
    for _ in range(20):
        connection.passed(1.0, C, PUBLISH)
    names = ["a.pcapng", "a-2.pcapng", "a-3.pcapng"]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(names)
    counts = [len(packets((tmp_path / name).read_bytes())) for name in names]
    assert (sum(counts), min(counts) > 0) == (21, True)
    assert all((tmp_path / name).stat().st_size < 2500 for name in names)


def test_only_its_owner_reads_the_file_even_if_it_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.touch(0o644)
    CaptureRecorder(str(path)).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_takes_a_capture(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    recorder = CaptureRecorder(str(path), masks=True)
    assert os.read(reader, 4) == b"\n\r\r\n"
    recorder.close()
    os.close(reader)
