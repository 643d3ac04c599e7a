"""What TLS carries, with a key log and tshark."""

import subprocess
from pathlib import Path

import pytest

from mqttpub.capture.protocol.tls import Decrypted, command, decrypted
from mqttpub.capture.types import NoKeys
from tests.build.certificates import Authority
from tests.build.pieces import CLIENT, CONNACKS, CONNECTS, PINGREQ, SERVER, V5, publish
from tests.build.tls_captures import TlsScript

A, B = "10.0.0.1:50000", "10.0.0.2:1883"


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def talk(talk: TlsScript) -> TlsScript:
    """Say what MQTT begins with, and a bit more."""
    return talk.say(CLIENT, CONNECTS[V5]).say(SERVER, CONNACKS[V5]).say(CLIENT, publish(), PINGREQ)


def carried(found: list[Decrypted], source: str) -> bytes:
    return b"".join(each.data for each in found if each.source == source)


# with tshark


@pytest.mark.tshark
@pytest.mark.slow
@pytest.mark.parametrize("maximum", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("alpn", ["", "mqtt", "http/1.1", "h2"])
def test_what_tls_carries(tmp_path: Path, ca: Authority, maximum: str, alpn: str) -> None:
    capture = talk(TlsScript(tmp_path, ca, maximum=maximum, alpn=alpn)).written()
    found = list(decrypted(*capture))
    assert [(each.source, each.target, each.data) for each in found] == [
        (A, B, CONNECTS[V5]), (B, A, CONNACKS[V5]), (A, B, publish() + PINGREQ),
    ]  # fmt: skip
    assert [each.record for each in found] == sorted({each.record for each in found})
    assert all(each.time_ns == 1_700_000_000_000_000_000 + each.record * 1_000_000 for each in found)


@pytest.mark.tshark
@pytest.mark.slow
def test_http_within_tls_is_bytes_too(tmp_path: Path, ca: Authority) -> None:
    request, answer = b"GET /mqtt HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", b"HTTP/1.1 101 Yes\r\n\r\n"
    spoken = (
        TlsScript(tmp_path, ca, alpn="http/1.1")
        .say(CLIENT, request)
        .say(SERVER, answer)
        .say(CLIENT, b"\x82\x02\xc0\x00")
    )
    found = list(decrypted(*spoken.written()))
    assert (carried(found, A), carried(found, B)) == (request + b"\x82\x02\xc0\x00", answer)


@pytest.mark.tshark
@pytest.mark.slow
def test_records_of_tls_in_many_segments(tmp_path: Path, ca: Authority) -> None:
    spoken = TlsScript(tmp_path, ca).say(CLIENT, CONNECTS[V5]).say(CLIENT, publish(bytes(100_000)))
    found = list(decrypted(*spoken.written(size=700)))
    assert carried(found, A) == CONNECTS[V5] + publish(bytes(100_000))


@pytest.mark.tshark
@pytest.mark.slow
def test_keys_that_the_capture_holds(tmp_path: Path, ca: Authority) -> None:
    capture = talk(TlsScript(tmp_path, ca)).written()
    both = tmp_path / "both.pcapng"
    inject = ["editcap", "--inject-secrets", f"tls,{capture.keylog}", str(capture.path), str(both)]
    subprocess.run(inject, check=True, capture_output=True)
    assert carried(list(decrypted(both)), A) == CONNECTS[V5] + publish() + PINGREQ


@pytest.mark.tshark
@pytest.mark.slow
def test_keys_of_other_connections_tell_nothing(tmp_path: Path, ca: Authority) -> None:
    capture = talk(TlsScript(tmp_path, ca)).written()
    other = tmp_path / "other.log"
    other.write_text("CLIENT_RANDOM " + "00" * 32 + " " + "11" * 48 + "\n")
    assert list(decrypted(capture.path, other)) == []


@pytest.mark.tshark
@pytest.mark.slow
def test_a_file_that_tshark_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "none.pcap"
    path.write_bytes(b"no capture at all")
    with pytest.raises(NoKeys, match=r"tshark ended with status \d+: "):
        list(decrypted(path))


# without


def test_a_missing_tshark_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoKeys, match=r"the program tshark .*, which is not installed"):
        decrypted(tmp_path / "a.pcap")


def test_a_missing_key_log_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, "")
    with pytest.raises(NoKeys, match=r"the key log '.*none\.log' cannot be read: No such file or directory"):
        decrypted(tmp_path / "a.pcap", tmp_path / "none.log")


def test_names_of_files_are_single_arguments() -> None:
    arguments = command("tshark", Path("-a b;c.pcap"), Path("k l.log"))
    assert arguments[arguments.index("-r") + 1] == str(Path.cwd() / "-a b;c.pcap")
    assert f"tls.keylog_file:{Path.cwd() / 'k l.log'}" in arguments


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, output: str, status: int = 0) -> None:
    """Put a program in the place of tshark that prints something."""
    program = folder / "tshark"
    program.write_text(f"#!/bin/sh\nprintf '{output}'\necho first >&2\necho 'the reason' >&2\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


LINE = r"7\t1.5\t1.1.1.1\t\t1000\t2.2.2.2\t\t2000\tc000,d000\n8\t\t\tfe80::1\t5\t\t::2\t6\te000\n"


def test_each_line_is_a_record_of_one_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, LINE)
    assert list(decrypted(tmp_path / "a.pcap")) == [
        Decrypted(7, 1_500_000_000, "1.1.1.1:1000", "2.2.2.2:2000", b"\xc0\x00\xd0\x00"),
        Decrypted(8, None, "[fe80::1]:5", "[::2]:6", b"\xe0\x00"),
    ]


def test_a_failure_of_tshark_is_reported_after_its_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, LINE, status=3)
    found = decrypted(tmp_path / "a.pcap")
    assert len([next(found), next(found)]) == 2
    with pytest.raises(NoKeys, match="tshark ended with status 3: the reason"):
        next(found)


@pytest.mark.parametrize("line", [r"1\t2\n", r"x\t\t\t\t\t\t\t\t00\n", r"1\t\t\t\t\t\t\t\t0\n"])
def test_lines_that_make_no_sense(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, line)
    with pytest.raises(NoKeys, match="tshark printed a line"):
        list(decrypted(tmp_path / "a.pcap"))


def test_a_reader_that_stops_stops_tshark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, monkeypatch, LINE + r"\n'; exec sleep 60; printf '")
    found = decrypted(tmp_path / "a.pcap")
    assert next(found).record == 7
    found.close()
