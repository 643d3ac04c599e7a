"""What files hold of packets that cannot be read, of secrets in them, and of packets of an unknown sender."""

import json
from pathlib import Path

import pytest

from tests.program import run

CUT_CONNECT = "> raw 103000044d51545405c2003c00000000047573657200087333637265747077\nclient FIN\n"
"""A CONNECT with the password s3cretpw that ends a byte too early, in a script."""
CUT_AUTH = "> connect; < connack; > raw f0 1f 18 0d 15 00 01 78 16 00 06 73 33 63 72 65 74; client FIN\n"
LONG_AUTH = "> connect; < connack; > raw f0 ff ff ff ff 01 18 0d 16 00 06 73 33 63 72 65 74; client FIN\n"
AUTH = "f00f180d15000178160006733363726574"
SECRETS = (b"s3cret", b"s3cret".hex().encode())


def exported(flag: str, path: Path, *arguments: object) -> tuple[bytes, bytes, int]:
    """Return the file that a view writes, what it says, and its status."""
    done = run("decode", flag, path / "out", *arguments)
    return (path / "out").read_bytes(), done.stderr, done.returncode


def broken(path: Path) -> list[str]:
    """Return the statements that an input breaks."""
    lines = map(json.loads, run("lint", path, "--json").stdout.splitlines())
    return [line["statement"] for line in lines if line["event"] == "finding"]


@pytest.mark.parametrize("flag", ["--script", "--pcapng"])
@pytest.mark.parametrize("talk", [CUT_CONNECT, CUT_AUTH, LONG_AUTH])
def test_a_packet_that_cannot_be_read_reveals_no_secret(flag: str, talk: str, tmp_path: Path) -> None:
    (tmp_path / "in.mqtt").write_text(talk)
    data, said, _ = exported(flag, tmp_path, tmp_path / "in.mqtt")
    assert not any(secret in data for secret in SECRETS)
    assert b"masked" in said
    data, said, _ = exported(flag, tmp_path, "--show-secrets", tmp_path / "in.mqtt")
    assert any(secret in data for secret in SECRETS)
    assert b"masked" not in said


@pytest.mark.parametrize("flag", ["--script", "--pcapng"])
@pytest.mark.parametrize("fault", ["30 ff ff ff ff 01 00", f"30 c8 01 00 01 61 {'78' * 90}"])
def test_a_packet_that_cannot_be_read_is_the_same_fault_in_the_file(flag: str, fault: str, tmp_path: Path) -> None:
    """The second one is a PUBLISH of 203 bytes that ends early, of which an event holds 64 bytes."""
    (tmp_path / "in.mqtt").write_text(f"> connect\n< connack\n> raw {fault}\nclient FIN\n")
    data, *_ = exported(flag, tmp_path, tmp_path / "in.mqtt")
    assert (b"only its first 64 bytes are written" in data) is (len(fault) > 40)
    before, after = (broken(tmp_path / name) for name in ("in.mqtt", "out"))
    assert before == after != []


@pytest.mark.parametrize("flag", ["--script", "--pcapng"])
def test_packets_of_an_unknown_sender_are_counted_and_reveal_no_secret(flag: str, tmp_path: Path) -> None:
    data, said, status = exported(flag, tmp_path, "-V", "5", AUTH + "320800016100010078793206000161000200")
    assert b"3 packets are left out of the" in said
    assert b"--direction" in said
    assert status == 2
    assert not any(secret in data for secret in SECRETS)
    *_, said, status = exported(flag, tmp_path, "-V", "5", "--direction", "client", "c000")
    assert (said, status) == (b"", 0)
