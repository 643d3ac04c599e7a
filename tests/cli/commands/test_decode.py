"""`decode`: what it says and its exit status, where the version or the input is in doubt."""

import json
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from mqttpub.spec.packets import Connack, Connect
from tests.cli.faulty import C, S, Step, capture

OF_5 = "40 03 64 4a 87"
"""A PUBACK that only MQTT 5.0 allows."""
CAPTURE = "tests/captures/qos2-mosquitto.pcapng"


def test_an_error_in_one_of_two_versions_is_named_and_is_not_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", OF_5]) == 0
    assert "both readings are shown, with an error" in capsys.readouterr().out
    assert main(["decode", "--json", OF_5]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["version"], bool(each["findings"])) for each in found] == [("5.0", False), ("3.1.1", True)]
    assert main(["decode", "-V", "3.1.1", OF_5]) == 1
    assert main(["decode", "40 03 64 4a 01"]) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nofile"], "argument: line 1, column 1: 'n' is not a hex digit, and there is no file 'nofile'"),
        (["40", "02", "nofile"], "argument: line 1, column 7: 'n' is not a hex digit, and there is no file 'nofile'"),
        (["40 02 zz"], "argument: line 1, column 7: 'z' is not a hex digit"),
        ([f"{OF_5} zz 11 22"], "argument: line 1, column 16: 'z' is not a hex digit"),
    ],
)
def test_what_is_neither_a_file_nor_bytes_is_said_to_be_neither(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", *words]) == 2
    assert capsys.readouterr().err == f"mqttpub decode: {expected}\n"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--follow", "nobody"], "there is no packet of client 'nobody'; --stats lists the clients"),
        (["--follow", "pub-4", "--filter", "qos=3"], "the filter matched no packet of client 'pub-4'"),
        (["--filter", "qos=3"], "the filter matched no packet"),
    ],
)
def test_a_selection_of_nothing_says_what_is_missing(
    flags: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", "--summary", *flags, CAPTURE]) == 0
    assert capsys.readouterr().err == f"mqttpub: {expected}\n"


def test_a_finding_of_an_end_is_chosen_by_the_end_at_fault_and_decides_the_status(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    refused: list[Step] = [(C, Connect(client_id="c")), (S, Connack(reason_code=0x87))]
    (path := tmp_path / "refused.pcap").write_bytes(capture(refused, silent_s=12))
    for terms, count in (("fault=server", 1), ("severity=error", 1), ("fault=client", 0)):
        assert main(["decode", "--json", "--filter", terms, str(path)]) == count
        records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [(each["event"], each["direction"]) for each in records] == [("remark", None)] * count
        assert [each["at_fault"] for one in records for each in one["findings"]] == ["server"] * count
    page = tmp_path / "page.html"
    assert main(["decode", "--html", str(page), str(path)]) == 1
