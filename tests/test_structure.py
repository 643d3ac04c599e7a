"""The shape of the package: no import circle, folders in order, none too full, and nothing heavy on a journey."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.test_layers import MODULES, ROOT, imported, parsed

MOST_MODULES = 18
"""Modules that a folder may hold, without its `__init__`."""

FOLDERS = {
    "lint": ("packet", "connection"),
    "capture": ("containers", "network", "protocol", "text", "logs"),
    "view": ("terminal", "form", "packet", "traffic", "diagram", "export", "page"),
    "live": ("net", "publish", "subscribe", "request", "bench"),
    "lab": ("serving", "faults", "broker", "proxy", "replay", "conform"),
    "columns": ("scan", "reassemble", "decode", "exchanges", "runs"),
    "spark": ("storage", "lake", "session", "pipeline", "formats"),
    "report": ("payloads", "engines", "questions"),
    "cli": (
        "flags",
        "inputs",
        "decode",
        "lint",
        "observe",
        "pub",
        "sub",
        "conn",
        "request",
        "respond",
        "copy",
        "step",
        "proxy",
        "conform",
        "replay",
        "encode",
        "explain",
        "bench",
        "pipeline",
        "compat",
        "commands",
    ),
}
"""The folders of a layer from the bottom up: one imports only from those before it, and from modules beside them."""

Graph = Mapping[str, set[str]]


def name_of(path: Path) -> str:
    """Return the dotted name of a module, a package for its `__init__`."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def graph_of(sources: Mapping[Path, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports: at its top, within functions, and for types only."""
    names = {name_of(path) for path in sources}
    graph: dict[str, set[str]] = {name: set() for name in names}
    for path, source in sources.items():
        for target in imported(path, source):
            while target and target not in names:
                target = target.rpartition(".")[0]
            if target and target != name_of(path):
                graph[name_of(path)].add(target)
    return graph


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of modules that import one another, directly or through others."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    reach = {name: reached(name) for name in graph}
    on_circle = [name for name in sorted(graph) if name in reach[name]]
    groups = {tuple(sorted(each for each in reach[name] if name in reach[each])) for name in on_circle}
    return [list(group) for group in sorted(groups)]


def upward(graph: Graph, folders: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the imports from a folder of one that stands above it in the same layer."""
    faults = []
    for name, targets in graph.items():
        _, layer, *rest = (*name.split("."), "", "")
        order = folders.get(layer, ())
        if rest[0] not in order:
            continue
        above = order[order.index(rest[0]) + 1 :]
        faults += [
            f"{name} imports {each}"
            for each in sorted(targets)
            if each.split(".")[1:3] in [[layer, up] for up in above]
        ]
    return faults


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return all imports of the package."""
    made = graph_of({path: path.read_text(encoding="utf-8") for path in MODULES})
    # `import mqttpub` imports nothing (tests/api/test_interface.py); the names it offers are there for type checkers.
    return {**made, "mqttpub": set()}


def test_no_modules_import_one_another(graph: Graph) -> None:
    assert circles(graph) == []


def test_folders_import_only_from_those_below(graph: Graph) -> None:
    assert upward(graph, FOLDERS) == []


def test_every_folder_of_a_layer_has_its_place_in_the_order() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        if len(parts) > 2 and parts[1] != "found":
            found[parts[0]].add(parts[1])
    assert found == {layer: set(names) for layer, names in FOLDERS.items()}


def test_no_folder_is_too_full() -> None:
    counts: dict[Path, int] = defaultdict(int)
    for path in MODULES:
        counts[path.parent] += path.name != "__init__.py"
    assert {str(folder.relative_to(ROOT)): count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_every_folder_says_what_it_is() -> None:
    docs = {path: path.read_text(encoding="utf-8") for path in MODULES if path.name == "__init__.py"}
    assert [path for path, text in docs.items() if not text.startswith('"""')] == []


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in parsed(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                # One that is private to its module is read beside the other as well.
                places[node.name.lstrip("_")].append(str(path.relative_to(ROOT)))
    assert {name: modules for name, modules in places.items() if modules[1:]} == {}


def sources(**texts: str) -> dict[Path, str]:
    """Return sources of made-up modules, whose names have two underscores for each slash."""
    return {ROOT / (name.replace("__", "/") + ".py"): text for name, text in texts.items()}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"a": "from . import b", "b": "import os"}, []),
        ({"a": "from . import b", "b": "from .a import x"}, [["mqttpub.a", "mqttpub.b"]]),
        ({"a": "from .b import x", "b": "def late():\n    from .c import y", "c": "from . import a"},
         [["mqttpub.a", "mqttpub.b", "mqttpub.c"]]),
        ({"a": "if TYPE_CHECKING:\n    from .b import B", "b": "import mqttpub.a"}, [["mqttpub.a", "mqttpub.b"]]),
        ({"live__a": "from .net.b import x", "live__net__b": "from ..a import y"},
         [["mqttpub.live.a", "mqttpub.live.net.b"]]),
    ],
)  # fmt: skip
def test_the_check_sees_circles(texts: dict[str, str], expected: list[Iterable[str]]) -> None:
    assert circles(graph_of(sources(**texts))) == expected


def test_the_check_sees_imports_that_go_up() -> None:
    texts = sources(live__net__a="from ..publish.b import x", live__publish__b="from ..net import c", live__net__c="")
    assert upward(graph_of(texts), FOLDERS) == ["mqttpub.live.net.a imports mqttpub.live.publish.b"]
