"""The names of `import mqttpub`: what they are, and what importing them costs."""

import ast
import pydoc
import subprocess
import sys
from inspect import getdoc, isclass
from pathlib import Path

import pytest

import mqttpub
import mqttpub.spark

SOURCE = ast.parse(Path(mqttpub.__file__).read_text())
TYPED = {
    alias.name
    for node in SOURCE.body
    if isinstance(node, ast.If)
    for each in node.body
    if isinstance(each, ast.ImportFrom)
    for alias in each.names
}
NAMES = sorted(set(mqttpub.__all__) - {"__version__"})


def test_types_and_names_are_one_list() -> None:
    assert set(NAMES) == TYPED
    assert mqttpub.__all__ == sorted(mqttpub.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_a_docstring_of_its_own(name: str) -> None:
    value = getattr(mqttpub, name)
    assert value.__name__ == name
    if isclass(value):
        assert value.__doc__, name
        assert not value.__doc__.startswith(f"{name}("), name
    else:
        assert getdoc(value)


def test_what_is_not_in_all_is_private() -> None:
    """The packages of the rooms can be imported, but nothing of them is a name of the interface.

    Names with @ are those of the assertions that pytest rewrites in what installs a plugin.
    """
    modules = {name for name in vars(mqttpub) if name not in mqttpub.__all__ and not name.startswith(("_", "@"))}
    rooms = {path.parent.name for path in Path(mqttpub.__file__).parent.glob("*/__init__.py")}
    assert modules - rooms <= {"TYPE_CHECKING"}
    assert sorted(mqttpub.spark.__all__) == ["register", "stream"]
    with pytest.raises(AttributeError, match="no attribute 'decoded'"):
        mqttpub.decoded  # type: ignore[attr-defined]  # noqa: B018


def test_help_is_for_users() -> None:
    text = pydoc.plain(pydoc.render_doc(mqttpub))
    assert "with mqttpub.subscribe(" in text
    # Python 3.13 writes each argument of a long signature on a line of its own.
    assert "decode(data:bytes|bytearray|memoryview,version:" in "".join(text.split())


def test_the_import_brings_nothing_along() -> None:
    code = "import sys; before = set(sys.modules); import mqttpub; print(sorted(set(sys.modules) - before))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {name for name in ast.literal_eval(shown) if not name.startswith("__")} == {"mqttpub"}
