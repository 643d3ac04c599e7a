"""`lint`: what it reads, what it picks, how it shows it, and how it ends."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main
from mqttpub.codec.encode import encode
from mqttpub.reading.version import MOST_HELD
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Connect, Puback, Publish
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Direction, Version
from tests.cli.faulty import FAULTS, WRONG, C, S, Step, capture, time_of
from tests.paths import CAPTURES

DUP = "38050001746869"
Screen = pytest.CaptureFixture[str]


@pytest.fixture
def wrong(tmp_path: Path) -> str:
    """The name of a capture in which much is wrong."""
    path = tmp_path / "wrong.pcap"
    path.write_bytes(capture(WRONG))
    return str(path)


def said(screen: Screen, *arguments: str, status: int) -> tuple[str, str]:
    """Run `lint` and return what it prints on standard output and on standard error."""
    assert main(["lint", *arguments]) == status
    shown = screen.readouterr()
    return shown.out, shown.err


def found(screen: Screen, *arguments: str, status: int = 1) -> list[dict[str, Any]]:
    """Run `lint --json` and return its records."""
    out, _ = said(screen, "--json", *arguments, status=status)
    return [json.loads(line) for line in out.splitlines()]


def ids(screen: Screen, *arguments: str, status: int = 1) -> set[str]:
    """Return the labels of the statements that are broken."""
    return {each["statement"] for each in found(screen, *arguments, status=status)}


# what is wrong


def test_a_capture_is_judged_packet_by_packet_and_as_a_conversation(capsys: Screen, wrong: str) -> None:
    records = found(capsys, wrong)
    assert {each["statement"] for each in records} >= FAULTS
    first = records[0]
    assert first["event"] == "finding"
    assert (first["file"], first["record"], first["packet"], first["client"]) == (wrong, 6, 3, "sensor-17")
    assert (first["path"], first["offset"], first["mask"], first["hex"]) == ("publish.dup", 0, 8, "38")
    assert first["time"] == f"2023-11-14T22:13:20.{time_of(2) // 1_000_000 % 1000:03d}000Z"


@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.stem)
def test_real_captures_are_right(capsys: Screen, path: Path) -> None:
    out, err = said(capsys, str(path), status=0)
    assert out == ""
    assert "no findings" in err


@pytest.fixture
def refused(tmp_path: Path) -> str:
    """The name of a capture in which the server refuses a client and does not close for 12 s, so the client does."""
    path = tmp_path / "refused.pcap"
    path.write_bytes(capture([(C, Connect(client_id="c")), (S, Connack(reason_code=0x87))], silent_s=12))
    return str(path)


def test_who_closes_is_not_at_fault_for_what_the_other_end_left_undone(capsys: Screen, refused: str) -> None:
    (only,) = found(capsys, refused)
    assert (only["statement"], only["at_fault"]) == ("MQTT5-3.2.2-7", "server")
    assert "direction" not in only
    out, _ = said(capsys, refused, status=1)
    assert "(packet 2) (fault of the server)" in " ".join(out.split())
    (result,) = json.loads(said(capsys, "--sarif", refused, status=1)[0])["runs"][0]["results"]
    assert result["properties"]["at_fault"] == "server"
    assert "fault of the server: 12 s later the server has not closed" in result["message"]["text"]


@pytest.mark.parametrize(("terms", "count"), [("fault=server", 1), ("fault=client", 0), ("fault=client,server", 1)])
def test_findings_are_chosen_by_the_end_at_fault(capsys: Screen, refused: str, terms: str, count: int) -> None:
    assert len(found(capsys, "--filter", terms, refused, status=count)) == count


def test_a_filter_chooses_findings_not_all_of_an_event(capsys: Screen, wrong: str) -> None:
    both = found(capsys, "--filter", "record=12", wrong)
    assert {each["severity"] for each in both} > {"error"}
    assert {each["severity"] for each in found(capsys, "--filter", "record=12 severity=error", wrong)} == {"error"}


def test_omissions_at_the_end_of_a_connection_are_found(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "left.pcap"
    messages: list[Step] = [(S, Publish(topic="a", qos=1, packet_id=id)) for id in (1, 2)]
    path.write_bytes(capture([*WRONG[:2], *messages, (C, Puback(packet_id=2))]))
    (only,) = found(capsys, "--select", "4.5.0-2", str(path))
    assert only["message"].endswith("with Packet Identifier 1 got no PUBACK")
    assert "type" not in only
    out, _ = said(capsys, "--select", "4.5.0-2", str(path), status=1)
    assert "\n\nconnection 1  sensor-17  MQTT 5.0\n  at 0.0" in out
    text = tmp_path / "left.txt"
    steps = [*WRONG[:2], *messages, (C, Puback(packet_id=2))]
    text.write_text("".join(f"{end.mark} {_bytes(packet).hex()}\n" for end, packet in steps))
    assert ids(capsys, "--select", "4.5.0-2", str(text)) == {"MQTT5-4.5.0-2"}


def test_a_packet_that_is_cut_off_by_the_end_of_its_connection_is_found(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(capture([*WRONG[:2], (C, b"\x30\x50\x00\x01a")]))
    (only,) = found(capsys, str(path))
    assert (only["statement"], only["path"]) == ("MQTT5-2.1.4/short", "publish.remaining_length")
    assert "5 bytes into a PUBLISH of 82 bytes" in only["message"]


@pytest.mark.parametrize("cut", ["30080001610078", "40030001", "3080050001610078", "a2ff01", "30"])
@pytest.mark.parametrize("version", ["5", "3.1.1", "3.1"])
def test_a_packet_that_is_cut_short_is_never_right(capsys: Screen, tmp_path: Path, version: str, cut: str) -> None:
    """As an argument, as the last line of a text, and as the last record of what `decode` wrote."""
    short = {"MQTT5-2.1.4/short", "MQTT311-2.2.3/short", "MQTT31-2.1/short"}
    short |= {"MQTT311-3.4.1/length", "MQTT31-3.4/length"}
    assert ids(capsys, "-V", version, cut) & short
    text, records = tmp_path / "cut.txt", tmp_path / "cut.jsonl"
    text.write_text(f"> c000\n< d000\n> {cut}\n")
    assert ids(capsys, "-V", version, str(text)) & short
    assert main(["decode", "--json", "-V", version, str(text)]) == 1
    records.write_text(capsys.readouterr().out)
    assert ids(capsys, str(records)) & short
    records.write_text(records.read_text().splitlines()[-1])
    assert ids(capsys, str(records)) & short


def test_one_byte_of_a_packet_before_the_close_breaks_a_statement(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(capture([*WRONG[:2], (C, b"\x30")]))
    (only,) = found(capsys, str(path))
    assert only["statement"] == "MQTT5-2.1.4/short"
    assert only["message"] == "the connection was closed 1 byte into a packet"


def _bytes(packet: Packet | bytes) -> bytes:
    return packet if isinstance(packet, bytes) else encode(packet, Version.V5)


def test_times_count_from_the_first_packet(capsys: Screen, wrong: str) -> None:
    out, _ = said(capsys, "--select", "3.3.2-2", wrong, status=1)
    assert "\n  at 0.003000, record 7, packet 4, " in out


# inputs


def test_hex_as_arguments(capsys: Screen) -> None:
    assert ids(capsys, "-V", "5", DUP) == {"MQTT5-3.3.1-2", "MQTT5-2.2.2.1/short"}
    assert ids(capsys, "-V", "3.1.1", *[DUP[at : at + 2] for at in range(0, 14, 2)]) == {"MQTT311-3.3.1-2"}


def test_standard_input_and_files(capsys: Screen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "packets.txt"
    path.write_text(f"# one packet\n\n> c000\n> {DUP}\n")
    (only,) = found(capsys, "-V", "3.1.1", str(path))
    assert (only["line"], only["direction"], only["file"]) == (4, "client", str(path))
    with path.open("rb") as file:
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": file, "isatty": lambda self: False})())
        (only,) = found(capsys, "-V", "3.1.1")
    assert (only["line"], only.get("file")) == (4, None)


def test_a_transcript_is_judged_like_the_capture_that_it_shows(capsys: Screen, wrong: str, tmp_path: Path) -> None:
    assert main(["decode", "--json", "--show-secrets", wrong]) == 1
    path = tmp_path / "shown.jsonl"
    path.write_text(capsys.readouterr().out)
    assert ids(capsys, str(path)) == ids(capsys, wrong)


def test_the_version_is_that_in_which_less_is_wrong_with_all(capsys: Screen) -> None:
    older, newer = (encode(Publish(topic="a", payload=b"\x07x"), version).hex() for version in (4, 5))  # type: ignore[arg-type]
    _, err = said(capsys, "c000", older, status=0)
    assert "packets were read as MQTT 3.1.1; use --mqtt-version to choose another" in err
    _, err = said(capsys, "c000", newer, status=0)
    assert "packets were read as MQTT 5.0" in err
    _, err = said(capsys, encode(Connect(client_id="a"), Version.V311).hex(), newer, status=0)
    assert "--mqtt-version" not in err


OLD_LEVEL_6 = "100d00044d5154540602003c000161"
NEW_LEVEL_6 = "100e00044d5154540602003c00000161"


@pytest.mark.parametrize("form", ["text", "capture"])
@pytest.mark.parametrize("answer", ["20020001", "2003008400"])
@pytest.mark.parametrize(("connect", "prefix"), [(OLD_LEVEL_6, "MQTT311"), (NEW_LEVEL_6, "MQTT5")])
def test_a_server_may_refuse_an_unknown_protocol_level_in_the_way_of_any_version(
    connect: str, prefix: str, answer: str, form: str, capsys: Screen, tmp_path: Path
) -> None:
    path = tmp_path / "it"
    steps: list[Step] = [(C, bytes.fromhex(connect)), (S, bytes.fromhex(answer))]
    path.write_bytes(capture(steps) if form == "capture" else f"> {connect}\n< {answer}\n".encode())
    (only,) = found(capsys, str(path))
    assert (only["type"], only["statement"], only["client"]) == ("CONNECT", f"{prefix}-3.1.2.2/level", "a")
    assert (only["offset"], only["severity"]) == (8, "error")
    assert main(["decode", "--summary", "--json", str(path)]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    client_ids = [row["client_id"] for row in rows if row.get("type") == "CONNECT"]
    verdicts = [row["verdict"] for row in rows if row.get("type") == "CONNACK"]
    assert (client_ids, verdicts) == (["a"], ["ok"])


@pytest.mark.parametrize("form", ["text", "capture"])
@pytest.mark.parametrize(
    ("answers", "statements"),
    [
        (["20020001"], set()),
        (["20020005"], set()),
        (["20020101"], {"MQTT311-3.2.2-4"}),
        (["20020000"], {"MQTT5-2.2.2-1"}),
        (["20020006"], {"MQTT5-2.2.2-1", "MQTT5-3.2.2-8"}),
        (["20020001", "20020001"], {"MQTT5-2.2.2-1", "MQTT5-3.2.2-8"}),
        (["d000", "20020001"], {"MQTT5-3.2.0-1", "MQTT5-3.13/unasked", "MQTT5-2.2.2-1", "MQTT5-3.2.2-8"}),
        (["20020001", "30050001610078"], {"MQTT5-3.2.2-7", "MQTT5-3.3.2-3"}),
    ],
)
def test_a_server_of_an_older_version_may_refuse_5_0_in_its_own_form(
    answers: list[str], statements: set[str], form: str, capsys: Screen, tmp_path: Path
) -> None:
    path, connect = tmp_path / "it", encode(Connect(client_id="a"), Version.V5)
    steps: list[Step] = [(C, connect), *((S, bytes.fromhex(answer)) for answer in answers)]
    text = f"> {connect.hex()}\n" + "".join(f"< {answer}\n" for answer in answers)
    path.write_bytes(capture(steps) if form == "capture" else text.encode())
    wrong = int(bool(statements))
    broken = ids(capsys, str(path), status=wrong)
    assert broken == statements
    assert main(["decode", "--summary", "--json", str(path)]) == wrong
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (row, *_) = [row for row in rows if row.get("type") == "CONNACK"]
    if not wrong:
        name = "not authorized" if answers == ["20020005"] else "unacceptable protocol version"
        assert (row["verdict"], row["reason"]) == ("ok", name)


def test_a_server_that_accepts_an_unknown_protocol_level_is_reported(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_text(f"> {OLD_LEVEL_6}\n< 20020000\n")
    assert ids(capsys, str(path)) == {"MQTT311-3.1.2.2/level", "MQTT311-3.1.4-1"}
    # Nothing is said of what comes after that in which all versions agree: nobody knows what it should be.
    path.write_text("100e 0004 4d515454 07 02 003c ff ff ff ff")
    assert ids(capsys, str(path)) == {"MQTT311-3.1.2.2/level"}


@pytest.mark.parametrize(
    ("connect", "answer", "statement"),
    [
        ("100f00064d51497364708302003c000161", "20020000", "MQTT31-2.2/version"),
        ("100d00044d5154548402003c000161", "20020000", "MQTT311-3.1.2.2/level"),
        ("100d00044d5154548402003c000161", "20020001", "MQTT311-3.1.2.2/level"),
        ("100d00044d5154580402003c000161", "20020001", "MQTT311-3.1.2.1/name"),
        ("100e00044d5154580502003c00000161", "2003008400", "MQTT5-3.1.2-1"),
    ],
)
def test_bridges_and_other_names_are_the_client_s_own_fault(
    connect: str, answer: str, statement: str, capsys: Screen, tmp_path: Path
) -> None:
    path = tmp_path / "it"
    path.write_bytes(capture([(C, bytes.fromhex(connect)), (S, bytes.fromhex(answer))], port=1883))
    status = 1 if statement.endswith(("name", "2-1")) else 0
    (only,) = found(capsys, "--port", "1883", str(path), status=status)
    assert (only["statement"], only["type"], only["client"]) == (statement, "CONNECT", "a")


def test_the_version_of_many_packets_is_guessed_from_the_first(capsys: Screen) -> None:
    newer = encode(Publish(topic="a", payload=b""), Version.V5).hex()
    _, err = said(capsys, newer * (MOST_HELD + 5), status=0)
    assert f"{MOST_HELD + 5:,} packets: no findings" in err


def test_truncated_packets_and_unfinished_connections_are_judged(capsys: Screen) -> None:
    (only,) = found(capsys, "-V", "5", "308201" + "00" * 100)
    assert only["message"] == "Remaining Length 130, but 100 bytes are left"
    assert ids(capsys, "-V", "5", "30ffffffff7f") == {"MQTT5-1.5.5/length"}


def test_the_direction_is_given_marked_or_the_only_one(capsys: Screen) -> None:
    (only,) = found(capsys, "-V", "5", "--direction", "client", "20030000 00")
    assert (only["statement"], only["direction"]) == ("MQTT5-2.1.2/direction", "client")
    assert found(capsys, "-V", "5", "2003000000", status=0) == []
    (only,) = found(capsys, "-V", "5", "a106000100000161")
    assert (only["statement"], only["direction"]) == ("MQTT5-3.10.1-1", "client")
    assert "direction" not in found(capsys, "-V", "5", DUP)[0]


def test_a_connection_in_a_text_begins_with_its_connect(capsys: Screen, tmp_path: Path) -> None:
    connect = encode(Connect(client_id="a"), Version.V5).hex()
    path = tmp_path / "two.txt"
    path.write_text(f"> {connect}{connect}\n< 40020001\n")
    only = next(each for each in found(capsys, str(path)) if each["statement"] == "MQTT5-3.2.0-1")
    assert (only["connection"], only["packet"]) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["zz"], "argument: line 1, column 1: 'z' is not a hex digit, and there is no file 'zz'"),
        (["gone.pcap"], "cannot read 'gone.pcap': No such file or directory"),
        (["-f", "/nowhere/x"], "cannot read '/nowhere/x': No such file or directory"),
        (["--select", "nothing", DUP], "--select: no statement is called 'nothing'"),
        (["--sarif", "--json", DUP], "--sarif and --json do not go together"),
        (["--sarif", "--report", DUP], "--sarif and --report do not go together"),
        (["--filter", "tipe=X", DUP], "--filter: "),
        (["--direction", "up", DUP], "--direction: 'up' is not one of 'client', 'server', 'auto'."),
    ],
)
def test_wrong_arguments_are_one_line(capsys: Screen, arguments: list[str], expected: str) -> None:
    out, err = said(capsys, *arguments, status=2)
    assert out == ""
    assert err.startswith(f"mqttpub lint: {expected}")
    assert err.count("\n") == 1


def test_a_broken_file_does_not_hide_the_others(capsys: Screen, wrong: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(Path(wrong).read_bytes()[:-5])
    out, err = said(capsys, "--json", str(broken), wrong, status=2)
    records = [json.loads(line) for line in out.splitlines()]
    assert {each["file"] for each in records if each["event"] == "finding"} == {str(broken), wrong}
    assert {each["event"] for each in records} == {"finding", "group"}
    assert err.splitlines()[-1].startswith(f"mqttpub lint: {broken}: offset ")


def test_without_mqtt_it_says_so(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(capture([])[:24])
    assert said(capsys, str(path), status=2) == ("", "mqttpub lint: no MQTT packet was found\n")


# which findings


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("3.3.1-2", {"MQTT5-3.3.1-2"}),
        ("MQTT5-3.3.1-2", {"MQTT5-3.3.1-2"}),
        ("[MQTT-3.3.1-2]", {"MQTT5-3.3.1-2"}),
        ("mqtt5-3.3.2, 2.2.2.2/range", {"MQTT5-3.3.2-2", "MQTT5-3.3.2-3", "MQTT5-2.2.2.2/range"}),
        ("*alias*", {"MQTT5-3.3.4/alias-unset"}),
        ("MQTT311", set()),
        ("2.2.1", {"MQTT5-2.2.1-3", "MQTT5-2.2.1-5"}),
    ],
)
def test_statements_are_selected(capsys: Screen, wrong: str, select: str, expected: set[str]) -> None:
    assert ids(capsys, "--select", select, wrong, status=1 if expected else 0) == expected
    assert ids(capsys, "--ignore", select, wrong) == ids(capsys, wrong) - expected


def counts(err: str) -> list[int]:
    """Return how many statements the last line counts: all, those broken, kept and not exercised."""
    found = re.search(
        r"(\d+) statements of MQTT [\d.]+: (\d+) statements? broken, (\d+) kept, (\d+) not exercised", err
    )
    assert found, err
    return [int(number) for number in found.groups()]


def test_ignored_statements_are_neither_errors_nor_counted(capsys: Screen) -> None:
    every = said(capsys, "-V", "3.1.1", DUP, status=1)[1]
    err = said(capsys, "-V", "3.1.1", "--ignore", "3.3.1-2", "--report", DUP, status=0)[1]
    assert "1 packet: no findings in the selection\n" in err
    of_all, broken, kept, rest = counts(every)
    assert (of_all, broken) == (broken + kept + rest, 1)
    assert counts(err) == [of_all - 1, 0, kept, rest]


def test_the_severity_has_a_threshold(capsys: Screen) -> None:
    control = encode(Publish(topic="a\x01"), Version.V5).hex()
    assert [each["severity"] for each in found(capsys, "-V", "5", control, status=0)] == ["warning"]
    assert found(capsys, "-V", "5", "--severity", "error", control, status=0) == []


def test_packets_are_picked_by_a_filter(capsys: Screen, wrong: str) -> None:
    assert {each["type"] for each in found(capsys, "--filter", "direction=server type=AUTH", wrong)} == {"AUTH"}


def test_more_of_the_same_are_counted(capsys: Screen) -> None:
    out, err = said(capsys, "-V", "3.1.1", DUP * 12, status=1)
    assert out.count("MQTT311-3.3.1-2") == 10
    assert "12 packets: 12 findings (12 errors)" in err
    assert "not shown: 2 of MQTT311-3.3.1-2 (--limit 0 shows all)" in " ".join(err.split())
    assert said(capsys, "-V", "3.1.1", "--limit", "0", DUP * 12, status=1)[0].count("MQTT311-3.3.1-2") == 12
    assert len(found(capsys, "-V", "3.1.1", DUP * 12)) == 12
    assert len(found(capsys, "-V", "3.1.1", "--limit", "3", DUP * 12)) == 3


# by client, statement or topic


def groups_of(records: list[dict[str, Any]]) -> dict[str | None, list[dict[str, Any]]]:
    """Return the records of groups by the end that they name."""
    found: dict[str | None, list[dict[str, Any]]] = {}
    for each in records:
        if each["event"] == "group":
            found.setdefault(each.get("end"), []).append(each)
    return found


def test_several_connections_end_with_the_clients_that_have_findings(capsys: Screen, wrong: str, refused: str) -> None:
    records = found(capsys, wrong, refused)
    by_end = groups_of(records)
    counts = Counter(each["at_fault"] for each in records if each["event"] == "finding")
    assert [(each["client"], each["findings"]) for each in by_end["client"]] == [("sensor-17", counts["client"])]
    assert [(each["client"], each["findings"]) for each in by_end["server"]] == [("10.0.0.2:1883", counts["server"])]
    assert all(one["findings"] == sum(each["findings"] for each in one["statements"]) for one in by_end["client"])
    out, _ = said(capsys, wrong, refused, status=1)
    assert "\n\nFindings by client, most first\n  server 10.0.0.2:1883" in out or "\n  sensor-17" in out
    assert groups_of(found(capsys, "--filter", "fault=client", wrong, refused)).keys() == {"client"}
    apart, _ = said(capsys, "--jobs", "2", wrong, refused, status=1)
    assert apart == out


@pytest.mark.parametrize("by", ["client", "statement", "topic"])
def test_one_connection_ends_with_groups_only_where_asked(capsys: Screen, wrong: str, by: str) -> None:
    assert groups_of(found(capsys, wrong)) == {}
    records = found(capsys, "--by", by, wrong)
    groups = [each for each in records if each["event"] == "group"]
    assert {each["by"] for each in groups} == {by}
    assert sum(each["findings"] for each in groups) == len(records) - len(groups)
    assert f"Findings by {by}, most first" in said(capsys, "--by", by, wrong, status=1)[0]


def test_findings_that_are_not_shown_are_counted_in_groups(capsys: Screen) -> None:
    out, _ = said(capsys, "-V", "3.1.1", "--by", "statement", DUP * 12, status=1)
    assert "  MQTT311-3.3.1-2  12 errors  " in out
    assert "MQTT311" not in said(capsys, "-V", "3.1.1", "--by", "statement", "--ignore", "3.3.1", DUP, status=0)[0]


# output


def test_the_findings_of_a_packet_stand_together(capsys: Screen) -> None:
    out, err = said(capsys, "-V", "5", DUP, status=1)
    assert out.count("PUBLISH") == 1
    assert out.count("error  ") == 2
    of_all, _, _, rest = counts(err)
    assert err.splitlines() == [
        "1 packet: 2 findings (2 errors)",
        f"{of_all} statements of MQTT 5.0: 2 statements broken, 5 kept, {rest} not exercised",
    ]
    assert of_all == 2 + 5 + rest


def test_a_statement_is_explained(capsys: Screen) -> None:
    row = statement("MQTT311-3.3.1-2")
    out, _ = said(capsys, "-V", "3.1.1", "--explain", DUP, status=1)
    assert f"{row.text}\n       class A: one packet shows it; binds both ends" in out
    (only,) = found(capsys, "-V", "3.1.1", "--explain", DUP)
    assert (only["text"], only["class"], only["binds"]) == (row.text, "A", "cs")


def test_the_report_lists_every_statement_once(capsys: Screen, wrong: str) -> None:
    out, err = said(capsys, "--report", "--limit", "1", wrong, status=1)
    listed = out[out.index("Statements of MQTT 5.0, broken, with times broken of times tested") :]
    rows = [line.split()[0] for line in listed.splitlines() if line.startswith("MQTT5-")]
    assert len(rows) == len(set(rows))
    total, *counts = [
        int(word.replace(",", "")) for word in err.splitlines()[1].split() if word[0].isdigit() and "." not in word
    ]
    assert sum(counts) == total == len(rows)
    records = [each for each in found(capsys, "--report", wrong) if each["event"] == "statement"]
    assert sorted(each["statement"] for each in records) == sorted(rows)
    status = {each["statement"]: each["status"] for each in records}
    assert (status["MQTT5-3.3.1-2"], status["MQTT5-3.1.0-1"], status["MQTT5-3.10.3-2"]) == (
        "broken", "kept", "not exercised",
    )  # fmt: skip


def test_sarif_is_one_document(capsys: Screen, wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "one.bin"
    path.write_bytes(bytes.fromhex("c000" + DUP))
    out, _ = said(capsys, "--sarif", "-V", "5", wrong, str(path), status=1)
    (run,) = json.loads(out)["runs"]
    regions = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert regions[-1] == {
        "artifactLocation": {"uri": path.as_uri()}, "region": {"byteOffset": 7, "byteLength": 1},
    }  # fmt: skip
    assert regions[0]["region"] == {"byteOffset": 0, "byteLength": Path(wrong).stat().st_size}
    out, _ = said(capsys, "--sarif", "zz", status=2)
    assert json.loads(out)["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_hostile_names_do_not_reach_the_terminal(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(capture([(C, Connect(client_id="x\x1b[31m\u202e")), (C, Publish(topic="\x9b5m+", dup=True))]))
    for flags in ([], ["--explain"], ["--json"], ["--sarif"]):
        out, err = said(capsys, *flags, str(path), status=1)
        assert all(line.isprintable() for line in (out + err).splitlines()), flags


def test_secrets_are_masked(capsys: Screen, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    data = encode(Connect(client_id="x", username="me", password=b"hush"), Version.V5)
    path.write_bytes(capture([(C, data + b"more"), (C, b"\xc0\x00")]))
    cut = data[:-1].hex()
    for flags in ([], ["--json"], ["--sarif"]):
        out, _ = said(capsys, *flags, "-V", "5", cut, status=1)
        assert "hus" not in out
        assert "687573" not in out.replace(" ", "")


@pytest.mark.parametrize("direction", Direction)
def test_every_direction_is_a_choice(capsys: Screen, direction: Direction) -> None:
    (only,) = found(capsys, "-V", "3.1.1", "--direction", direction.value, DUP)
    assert only["direction"] == direction.value
