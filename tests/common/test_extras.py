"""The extras are those of pyproject.toml, and a message names the command of what installed the program."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from mqttpub.common.extras import EXTRAS, complete, installing, missing, needs
from tests.documents import ROOT


def test_the_extras_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    declared = {extra: {re.split(r"[<>=\[; ]", each)[0] for each in project[extra]} for extra in project}
    if sys.version_info >= (3, 14):
        declared["captures"] = set()
    assert {extra: set(packages) for extra, packages in EXTRAS.items()} == {
        extra: declared[extra] for extra in declared if extra != "test"
    }
    # The tests need all of them, under whatever names their modules have.
    assert missing(*(package for packages in EXTRAS.values() for package in packages)) == []


def test_all_packages_that_are_missing_stand_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    for module in ("numpy", "duckdb", "google.protobuf"):
        monkeypatch.setitem(sys.modules, module, None)
    lacking = missing(*EXTRAS["summary"])
    assert needs("this run", lacking, "columns", "summary", "delta") == (
        "this run needs numpy, duckdb and protobuf: pip install 'mqttpub[summary,delta]'"
    )


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("uv-receipt.toml", "uv tool install 'mqttpub[scram,proxy]'"),
        ("pipx_metadata.json", "pipx install --force 'mqttpub[scram,proxy]'"),
        ("pyvenv.cfg", "uv pip install 'mqttpub[proxy]'"),
        ("other", "pip install 'mqttpub[proxy]'"),
    ],
)
def test_the_command_is_that_of_the_installer(
    file: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).write_text("uv = 0.13.9\n")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    present = {"scramp"}
    monkeypatch.setattr("mqttpub.common.extras._is_installed", present.__contains__)
    assert complete() == ["scram"]
    assert installing("proxy") == command
