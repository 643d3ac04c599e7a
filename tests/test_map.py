"""The map in CONTRIBUTING agrees with the folders, with the layers and with the code."""

import ast
import re
from pathlib import Path

import pytest

import mqttpub
from tests.documents import ROOT, section
from tests.test_layers import ALONE, LAYERS, STANDARD_ONLY

PACKAGE = Path(mqttpub.__file__).parent
DOC = section(ROOT / ".github" / "CONTRIBUTING.md", "The map")
ROWS, JOURNEYS = (
    re.findall(r"^    (\w+) {2,}(.*(?:\n {15}.*)*)", half, re.MULTILINE) for half in DOC.split("Journeys")
)
NAMES = [name for _, names in JOURNEYS for name in re.split(r",\s+", names)]


def test_the_rooms_of_the_map_are_the_layers_in_their_order() -> None:
    assert [room for room, _ in ROWS] == LAYERS


def test_the_rooms_of_the_map_are_the_folders() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(LAYERS)


def test_the_map_names_the_last_room_on_the_standard_library_and_those_that_stand_alone() -> None:
    last = max(STANDARD_ONLY, key=LAYERS.index)
    assert set(LAYERS[: LAYERS.index(last) + 1]) == STANDARD_ONLY
    assert f"Nothing up to `{last}` imports" in DOC
    sentence = DOC[DOC.index("`live`, `capture`") : DOC.index("do not import one another")]
    assert set(re.findall(r"`(\w+)`", sentence)) == ALONE


def test_each_journey_has_five_names_or_six() -> None:
    assert [journey for journey, _ in JOURNEYS] == [
        "pub",
        "sub",
        "copy",
        "step",
        "proxy",
        "conform",
        "replay",
        "decode",
        "parquet",
        "pipeline",
    ]
    assert all(len(re.split(r",\s+", names)) in (5, 6) for _, names in JOURNEYS)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_journey_is_in_its_module(name: str) -> None:
    module, _, own = name.rpartition(".")
    tree = ast.parse((PACKAGE / f"{module.replace('.', '/')}.py").read_text())
    assert own in {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
