"""Metrics for Prometheus, and the same numbers as JSON."""

import json
import re
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from tests.paths import MORNING, QOS2

_LABEL = r'[a-z_]+="(?:[^"\\\n]|\\.)*"'
LINE = re.compile(rf"(mqttpub_[a-z_]+)(\{{{_LABEL}(?:,{_LABEL})*\}})? (-?[0-9.e+-]+)")
"""A sample of the text format."""


def test_the_numbers_are_those_of_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "mqttpub.prom", str(tmp_path / "out")
    given = ["pipeline", str(MORNING), "--lint", "-o", out, "--master", "none"]
    assert main([*given, "--json", "--metrics", str(path)]) == 0
    done = json.loads(capsys.readouterr().out)
    samples: dict[str, list[tuple[str, float]]] = {}
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            found = LINE.fullmatch(line)
            assert found, line
            samples.setdefault(found[1], []).append((found[2] or "", float(found[3])))

    def summed(name: str, label: str = "") -> float:
        return sum(value for labels, value in samples[f"mqttpub_{name}"] if label in labels)

    assert summed("packets_total") == done["rows"]["packets"] == 3466
    assert summed("connections_total") == done["rows"]["connections"]
    assert summed("findings_total") == done["rows"]["findings"]
    assert summed("exchanges_total", 'outcome="unfinished"') == sum(
        row["unfinished"] for row in done["summary"]["exchanges"]
    )
    (first, *_) = done["summary"]["exchanges"]
    assert summed("ack_latency_seconds", f'kind="{first["kind"]}",asked_by="{first["sender"]}",quantile="0.99"') == (
        first["p99_us"] / 1e6
    )
    # The numbers as JSON, also where nothing is new.
    assert main([*given, "--mode", "append", "--metrics", str(tmp_path / "numbers.json")]) == 0
    assert json.loads((tmp_path / "numbers.json").read_text()) == done["summary"]


def test_other_files_are_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    given = ["pipeline", str(QOS2), "-o", str(tmp_path / "out"), "--master", "none", "--metrics"]
    assert main([*given, str(tmp_path / "notes")]) == 2
    assert "exists and is not metrics of mqttpub" in capsys.readouterr().err
    assert main([*given, str(tmp_path / "out" / "packets" / "x")]) == 2
    assert (tmp_path / "notes").read_text() == "mine"
    assert not (tmp_path / "out").exists()
