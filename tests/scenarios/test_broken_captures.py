"""Ten broken captures: one command names each cause."""

import json
from pathlib import Path

import pytest

from mqttpub.cli.main import main
from tests.build.broken_captures import CASES, Case, written


@pytest.mark.parametrize("case", CASES, ids=[case.cause for case in CASES])
def test_the_cause_is_named_and_the_dump_points_at_it(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.pcap"
    path.write_bytes(written(case.said, case.version))
    assert main(["decode", str(path), "--summary", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [finding for line in lines for finding in line.get("findings", ())]
    first = next(each for each in found if each["severity"] == "error")
    assert first["statement"] == case.statement
    assert case.word in first["message"]
    assert main(["decode", str(path), "--filter", f"finding={case.statement}"]) == 1
    shown = capsys.readouterr().out
    assert case.statement in shown
    assert "^" in shown
