"""A module whose loading is deferred, beside one that is not."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from mqttpub.common.deferred_import import deferred

NAMES = ("deferred_library", "deferred_part", "deferred_other")


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A library that imports two modules; each of the three notes in the list that it is loaded."""
    noted: list[str] = []
    monkeypatch.setattr(sys, "deferred_import_test", noted, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in NAMES:
        imports = "import deferred_part, deferred_other\n" if name == "deferred_library" else ""
        (tmp_path / f"{name}.py").write_text(f"import sys\n{imports}sys.deferred_import_test.append(__name__)\nx = 1\n")
    yield noted
    for name in NAMES:
        sys.modules.pop(name, None)


def test_a_deferred_module_is_loaded_when_it_is_first_used(loaded: list[str]) -> None:
    with deferred("deferred_part"):
        library = import_module("deferred_library")
    assert loaded == ["deferred_other", "deferred_library"]
    assert library.deferred_part.x == 1
    assert loaded == ["deferred_other", "deferred_library", "deferred_part"]


def test_an_import_after_the_block_loads_it(loaded: list[str]) -> None:
    with deferred("deferred_part"):
        import_module("deferred_part")
    assert loaded == []
    assert import_module("deferred_part").x == 1
    assert loaded == ["deferred_part"]


def test_after_an_error_nothing_more_is_deferred(loaded: list[str]) -> None:
    with pytest.raises(ModuleNotFoundError, match="deferred_missing"), deferred("deferred_part", "deferred_missing"):
        import_module("deferred_missing")
    import_module("deferred_part")
    assert loaded == ["deferred_part"]
