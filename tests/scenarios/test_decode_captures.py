"""`decode` on captures: every kind of input, and what goes wrong with them."""

import gzip
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mqttpub.cli.main import main
from tests import program
from tests.build.broken_captures import MESSAGE, OPENING, written
from tests.cli.faulty import C, S, capture
from tests.paths import QOS2
from tests.program import on_terminal

EVERY = QOS2.with_name("every-type-and-property.pcapng")
DECODE = [*program.PROGRAM, "decode"]


def run(*arguments: object, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return program.run("decode", *arguments, data=stdin)


def rows(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 0) -> list[dict[str, object]]:
    assert main(["decode", *map(str, arguments), "--summary", "--json"]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_pipe_gives_what_the_file_gives() -> None:
    whole = run(QOS2, "--summary").stdout
    assert whole.count(b"\n") == 66
    assert run("--summary", stdin=QOS2.read_bytes()).stdout == whole
    assert run("-", "--summary", stdin=gzip.compress(QOS2.read_bytes())).stdout == whole


def test_a_pipe_may_be_slow() -> None:
    line = f"(head -c 3 '{QOS2}'; sleep 0.3; tail -c +4 '{QOS2}') | {shlex.join(DECODE)} --summary"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, run(QOS2, "--summary").stdout)


def test_a_pipe_that_closes_early_is_not_an_error() -> None:
    line = f"{shlex.join(DECODE)} '{QOS2}' --summary | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 141)
    assert done.stderr == b""


def test_connections_are_numbered_through_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = [row["connection"] for row in rows(capsys, QOS2, EVERY)]
    assert sorted(set(numbers)) == list(range(1, 9))  # type: ignore[type-var]


def test_of_several_files_it_is_said_which_one_a_packet_is_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of one name are told apart by their paths; one file alone is shown as ever."""
    alone = [{"file": QOS2.name, **row} for row in rows(capsys, QOS2)]
    both = rows(capsys, QOS2, EVERY)
    assert both[: len(alone)] == alone
    assert {row["file"] for row in both[len(alone) :]} == {EVERY.name}
    same = tmp_path / QOS2.name
    same.write_bytes(QOS2.read_bytes())
    lines = run(QOS2, "--summary").stdout.decode().splitlines()
    assert main(["decode", str(QOS2), str(same), "--summary", "--filter", "type=CONNECT connection=3,9"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [shown[0], shown[2]] == [f"{QOS2}:", f"{same}:"]
    assert shown[1] == shown[3]
    assert shown[1] in lines
    assert len(shown) == 4


def test_how_many_connections_are_remembered_is_said_by_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    """The connections of this capture overlap, so with room for one each of them is cut by the next."""
    ordinary = rows(capsys, QOS2)
    assert rows(capsys, QOS2, "--max-connections", 12_288) == ordinary
    numbers = {row["connection"] for row in rows(capsys, QOS2, "--max-connections", 1)}
    assert len(numbers) > len({row["connection"] for row in ordinary})
    assert main(["lint", str(QOS2)]) == main(["lint", str(QOS2), "--max-connections", "1"]) == 0
    whole, cut = capsys.readouterr().err.split("\n", 1)
    assert "no CONNECT was captured" in cut
    assert "no CONNECT was captured" not in whole


def test_what_was_good_is_shown_before_the_fault_is_named(tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(QOS2.read_bytes()[:3000])
    done = run(cut, EVERY, "--summary")
    assert done.returncode == 2
    assert done.stdout.count(b"\n") > 40
    assert (
        done.stderr
        == f"mqttpub decode: {cut}: offset 2960: a block needs 116 bytes, but the file ends after 40\n".encode()
    )


def test_a_page_is_written_whole_and_with_what_could_be_read(tmp_path: Path) -> None:
    cut, page = tmp_path / "cut.pcapng", tmp_path / "page.html"
    cut.write_bytes(QOS2.read_bytes()[:3000])
    assert run(cut, "--html", page).returncode == 2
    assert page.read_text(encoding="ascii").endswith("</html>\n")
    assert os.listdir(tmp_path) == ["cut.pcapng", "page.html"] or sorted(os.listdir(tmp_path)) == [
        "cut.pcapng",
        "page.html",
    ]


def test_other_traffic_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "http.pcap"
    request = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n".hex()
    path.write_bytes(written(f"> raw {request}").replace(b"\x07\x5b", b"\x00\x50"))
    done = run(path, "--summary")
    assert done.returncode == 2
    assert b"is not MQTT: 1 HTTP" in done.stderr
    assert b"no MQTT packet was found" in done.stderr


def test_times_and_clients_of_a_filtered_view(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, QOS2, "--follow", "sub-*", "--filter", "type=PUBLISH")
    assert {row["client"] for row in found} == {"sub-4", "sub-5"}
    assert {row["direction"] for row in found} == {"server"}
    assert len(found) == 4


def test_a_finding_of_the_conversation_has_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "early.pcap"
    path.write_bytes(written(f"{OPENING}; {MESSAGE} q1 i1; {MESSAGE} q1 i1"))
    (bad,) = [row for row in rows(capsys, path, status=1) if row.get("findings")]
    assert bad["verdict"] == "MQTT5-4.3.2-3"
    assert rows(capsys, path, "--filter", "!finding")


def test_hex_can_have_views_too(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = rows(capsys, "30", "03", "00", "01", "61", status=0)
    assert (row["type"], row["topic"]) == ("PUBLISH", "a")


@pytest.mark.parametrize("view", ["--ladder", "--svg", "--mermaid", "--flows", "--stats", "--pdml", "--tshark-json"])
def test_every_view_takes_the_capture_with_everything(view: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(EVERY), view]) == 0
    shown = capsys.readouterr()
    assert shown.out
    assert not shown.err


def test_records_of_a_capture_name_their_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(QOS2), "--json", "--filter", "type=PUBREL client=pub-4"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["record"], first["connection"], first["client"]) == (12, 1, "pub-4")
    assert first["time"].startswith("2026-")
    assert first["server"] == "127.0.0.1:1883"


def test_a_transcript_of_ours_is_a_capture_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["decode", str(QOS2), "--json"]) == 0
    path = tmp_path / "records.jsonl"
    path.write_text(capsys.readouterr().out)
    told = ("record", "connection", "client", "address", "server", "direction", "type", "topic", "verdict", "event")
    again, before = rows(capsys, path), rows(capsys, QOS2)
    assert [[row.get(key) for key in told] for row in again] == [[row.get(key) for key in told] for row in before]


@pytest.mark.parametrize("verb", ["decode", "lint"])
def test_names_may_be_any_bytes(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, cut, page = (tmp_path / os.fsdecode(name) for name in (b"caf\xff.txt", b"cut\xfe.pcap", b"\xfd"))
    whole.write_text("36 05 00 01 61 68 69")
    cut.write_bytes(QOS2.read_bytes()[:3000])
    flags = {
        "decode": "json summary flows stats ladder svg mermaid pdml tshark-json html=" + str(page),
        "lint": "json sarif report explain",
    }
    for flag in flags[verb].split(" "):
        assert main([verb, str(whole), f"--{flag}"]) == 1
        shown = capsys.readouterr().out.encode().decode()
        if flag in ("json", "sarif"):
            assert "\\udc" not in shown
        assert main([verb, str(cut), f"--{flag}"]) == 2
        told = capsys.readouterr()
        told.out.encode()
        assert r"cut\xfe.pcap: offset 2960: " in told.err
    assert r"<title>cut\xfe.pcap" in page.read_text() if verb == "decode" else not page.exists()


@pytest.mark.parametrize("flag", ["--html", "--parquet", "--arrow"])
def test_an_output_takes_the_place_of_nothing_but_its_like(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy, output, link, twin = (tmp_path / name for name in ("copy.pcapng", "output", "link", "twin"))
    copy.write_bytes(QOS2.read_bytes())
    link.symlink_to(copy)
    os.link(copy, twin)
    inputs: tuple[list[Path], ...] = ([QOS2], [copy], [link], [QOS2, twin], [EVERY, copy])
    outputs = [(words, path) for words in inputs for path in (copy, link, twin)]
    for named, path in [*outputs, ([QOS2], tmp_path)]:
        words = [*named, flag, path]
        assert main(["decode", *map(str, words)]) == 2
        assert flag in capsys.readouterr().err
        assert sorted(os.listdir(tmp_path)) == ["copy.pcapng", "link", "twin"]
        assert all(path.read_bytes() == QOS2.read_bytes() for path in (copy, link, twin))
        assert link.is_symlink()
    with open(copy, "rb") as file:
        done = subprocess.run([*DECODE, "-", flag, str(copy)], stdin=file, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(f"{flag}: '{copy}' is an input as well; choose another name\n".encode())
    for _ in range(2):
        assert main(["decode", str(copy), flag, str(output)]) == 0


@pytest.mark.parametrize("verb", ["decode", "lint"])
def test_an_input_is_not_read_while_it_grows(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(run(QOS2, "--json").stdout)
    before = path.read_bytes()
    with open(path, "ab") as file:
        words = [*program.PROGRAM, verb, "--json", str(path)]
        done = subprocess.run(words, stdout=file, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, b"standard output goes to a file that is an input as well" in done.stderr) == (2, True)
    assert path.read_bytes() == before


def test_all_views_count_seconds_from_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    for view in (["--summary"], ["--flows"], ["--ladder"], []):
        assert main(["decode", str(QOS2), *view, "--filter", "connection=6 id=1"]) == 0
        assert "0.114719" in capsys.readouterr().out


def test_connections_older_than_the_capture_have_no_negative_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "late.pcap"
    whole = written(f"{OPENING}; {MESSAGE} q1 i1; +5; {MESSAGE} q1 i2")
    records, at = [], 24
    while at < len(whole):
        size = 16 + int.from_bytes(whole[at + 8 : at + 12], "little")
        records.append(whole[at : at + size])
        at += size
    path.write_bytes(whole[:24] + b"".join(records[5:]))
    assert main(["decode", str(path), "--summary"]) in (0, 1)
    times = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert times == sorted(times)
    assert times[0] == 0


def test_a_capture_without_packets_does_not_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(written("")[:24])
    for command in (["decode", "--summary"], ["lint"]):
        assert main([command[0], str(path), *command[1:]]) == 2
        assert "no MQTT packet was found" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [("--summary", "--json"), ("--arrow", "-")])
def test_the_bar_is_drawn_on_the_terminal_and_the_output_goes_to_the_file(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    big, out = tmp_path / "big.pcap", tmp_path / "out"
    one = written(OPENING + f"; {MESSAGE}" * 20_000)
    big.write_bytes(one)
    with open(out, "wb") as file:
        drawn, ended = on_terminal([*DECODE, str(big), *flags], data=b"", stdout=file)
    assert ended == 0
    assert b"/2.1 MB" in drawn
    assert b'"type"' not in drawn
    output = out.read_bytes()
    rows = output.count(b'"type":') if "--json" in flags else len(pa.ipc.open_stream(output).read_all())
    assert rows == 20_002


# what peers send that is not Unicode

ODD = b"\xff\xed\xa0\x80\xc3\xa9\xc2\x9b\x1b\xe2\x80\xaez"
"""A byte that begins nothing, a surrogate, then an accent, controls and a turn of the direction as valid UTF-8."""
VIEWS: tuple[list[str], ...] = (
    [], ["--full"], ["--summary"], ["--flows"], ["--stats"], ["--ladder"], ["--svg"], ["--mermaid"], ["--pdml"],
         ["--tshark-json"], ["--json"], ["--summary", "--json"], ["--flows", "--json"], ["--stats", "--json"],
)  # fmt: skip


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON document, keys as well."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from strings(child)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A capture in which every text is ODD."""
    text = len(ODD).to_bytes(2, "big") + ODD
    pair, reason = b"\x26" + text + text, b"\x1f" + text

    def packet(first: int, *parts: bytes) -> bytes:
        return bytes((first, len(b"".join(parts)))) + b"".join(parts)

    path = tmp_path / "odd.pcap"
    sent = (b"\0\4MQTT\5\xc6\0\x3c", bytes((len(pair),)), pair, text, b"\0", text, b"\0\4will", text, b"\0\2pw")
    path.write_bytes(capture([
        (C, packet(0x10, *sent)),
        (S, packet(0x20, b"\0\0", bytes((len(reason) + 3,)), reason, b"\x22\0\5")),
        (C, packet(0x32, text, b"\0\1", bytes((len(text) + 1,)), b"\x03", text, ODD)),
        (S, packet(0x40, b"\0\1\0", bytes((len(reason),)), reason)),
        (C, packet(0x3A, text, b"\0\2\3\x23\0\1hi")),
        (C, packet(0x82, b"\0\3\0", text, b"\1")),
        (S, packet(0x90, b"\0\3\0\1")),
        (S, packet(0xE0, b"\x9d", bytes((len(reason),)), b"\x1c", text)),
    ]))  # fmt: skip
    return path


def test_no_view_gives_text_that_is_not_unicode(odd: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    commands = [["decode", *view] for view in VIEWS]
    commands += [["lint", *view] for view in ([], ["--json"], ["--sarif"], ["--report"], ["--json", "--report"])]
    page = odd.with_name("page.html")
    for command in (*commands, ["decode", "--html", str(page)]):
        assert main([*command, str(odd)]) == 1
        out, err = capfdbinary.readouterr()
        shown = (page.read_bytes() if "--html" in command else out).decode() + err.decode()
        assert not {"\x1b", "\x9b", "\u202e"} & {*shown} or "--svg" in command
        if "--json" in command:
            for text in strings([json.loads(line) for line in out.splitlines()]):
                text.encode()
        elif "--sarif" in command or "--tshark-json" in command:
            for text in strings(json.loads(out)):
                text.encode()


def test_json_has_the_bytes_of_a_client_identifier_that_is_not_unicode(
    odd: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for command in (["decode", "--json"], ["decode", "--summary", "--json"], ["decode", "--flows", "--json"],
                    ["lint", "--json"]):  # fmt: skip
        assert main([*command, str(odd)]) == 1
        records = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
        packets = [each for each in records if each.get("event") not in ("remark", "report", "summary", "closed")]
        assert packets
        assert {json.dumps(each["client"]) for each in packets} == {json.dumps({"hex": ODD.hex()})}
