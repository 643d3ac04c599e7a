"""A module whose loading is deferred, beside one that is not."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.machinery import SourceFileLoader
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


def test_a_second_import_does_not_load_it(loaded: list[str]) -> None:
    """click has three modules that import `inspect`."""
    with deferred("deferred_part"):
        import_module("deferred_part")
        import_module("deferred_library")
    assert loaded == ["deferred_other", "deferred_library"]


def test_what_is_loaded_is_a_module_like_any_other(loaded: list[str]) -> None:
    with deferred("deferred_part"):
        module = import_module("deferred_part")
    assert not hasattr(module, "missing")
    assert loaded == ["deferred_part"]
    assert type(module) is type(sys)
    assert module.__spec__ is not None
    assert isinstance(module.__spec__.loader, SourceFileLoader)
    assert module.__loader__ is module.__spec__.loader


def test_a_module_that_fails_is_loaded_again_at_the_next_use(loaded: list[str], tmp_path: Path) -> None:
    (tmp_path / "deferred_part.py").write_text("import deferred_missing\n")
    with deferred("deferred_part"):
        module = import_module("deferred_part")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="deferred_missing"):
            _ = module.x


def test_it_may_read_itself_while_it_is_loaded(loaded: list[str], tmp_path: Path) -> None:
    (tmp_path / "deferred_part.py").write_text(
        "import sys\nmyself = sys.modules[__name__]\nbefore = hasattr(myself, 'x')\nx = 1\nafter = myself.x\n"
    )
    with deferred("deferred_part"):
        module = import_module("deferred_part")
    assert (module.before, module.after) == (False, 1)


def test_another_thread_waits_until_it_is_loaded(loaded: list[str], tmp_path: Path) -> None:
    (tmp_path / "deferred_part.py").write_text(
        "import sys, time\nsys.deferred_import_test.append('begun')\ntime.sleep(0.2)\nx = 1\n"
    )
    with deferred("deferred_part"):
        module = import_module("deferred_part")
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(lambda _: module.x, range(4))] == [1] * 4
    assert loaded == ["begun"]
