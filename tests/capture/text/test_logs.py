"""Logs in the forms of the field: what `decode` finds in each is what the file beside it lists.

Beside each NAME.log stands NAME.packets: where the log comes from as a comment, `version` if it can be told, and one
line for each packet in order, as `direction type hex`. The direction is that which the log gives, else that of the only
end that may send the type, else unknown.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mqttpub.cli.main import main

LOGS = Path(__file__).with_name("logs")
WITH_PACKETS = sorted(LOGS.glob("mqtt/*.log"))
WITHOUT_PACKETS = sorted(LOGS.glob("other/*.log"))


def _expected(log: Path) -> tuple[list[str], str]:
    """Return the lines of packets, and the version or nothing."""
    lines = [line for line in log.with_suffix(".packets").read_text().splitlines() if not line.startswith("#")]
    version = "".join(line.removeprefix("version ") for line in lines if line.startswith("version "))
    return [line for line in lines if not line.startswith("version ")], version


def _readings(records: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records without the second reading of a packet whose version is not known."""
    before: dict[str, Any] = {}
    for record in records:
        second = record.get("version_known") is False and record.get("hex") == before.get("hex")
        if not second or record["version"] == before["version"]:
            yield record
        before = record


def _decode(log: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]], str]:
    """Return the exit status, the records, and what was said on standard error."""
    status = main(["decode", str(log), "--json", "--show-secrets"])
    out, err = capsys.readouterr()
    return status, list(_readings([json.loads(line) for line in out.splitlines()])), err


def _line(record: dict[str, Any]) -> str:
    return f"{record.get('direction') or 'unknown'} {record.get('type')} {record.get('hex')}"


def _check_packets(log: Path, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packets, version = _expected(log)
    status, records, err = _decode(path, capsys)
    assert [_line(record) for record in records] == packets, err
    assert status == 0, [record["findings"] for record in records]
    if version:
        assert {record["version"] for record in records} == {version}


@pytest.mark.parametrize("log", WITH_PACKETS, ids=lambda log: log.stem)
def test_the_packets_of_a_log_are_read(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _check_packets(log, log, capsys)


@pytest.mark.parametrize("log", WITH_PACKETS, ids=lambda log: log.stem)
def test_line_ends_of_the_other_kind_change_nothing(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = log.read_bytes()
    other = data.replace(b"\r\n", b"\n") if b"\r\n" in data else data.replace(b"\n", b"\r\n")
    path = tmp_path / log.name
    path.write_bytes(other)
    _check_packets(log, path, capsys)


@pytest.mark.parametrize("log", WITHOUT_PACKETS, ids=lambda log: log.stem)
def test_numbers_that_are_not_mqtt_give_no_packets(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _expected(log) == ([], "")
    status, records, err = _decode(log, capsys)
    assert ([_line(record) for record in records], status) == ([], 2), err
    assert len(err.splitlines()) == 1


def test_each_log_says_where_it_comes_from() -> None:
    assert len(WITH_PACKETS) >= 60
    assert len(WITHOUT_PACKETS) >= 20
    for log in WITH_PACKETS + WITHOUT_PACKETS:
        assert log.with_suffix(".packets").read_text().startswith("# "), log.name
