"""Files are written whole or not at all, and never over what the user still needs."""

import os
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pytest

from mqttpub.cli.compat.mosquitto.files import default_paths
from mqttpub.common.errors import UserError
from mqttpub.common.files import (
    PAGE,
    PARQUET,
    base_directory,
    check_place,
    drafted,
    file_id,
    lent,
    replace_whole,
    replacing,
)


def test_a_file_is_replaced_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with replacing(str(path)) as out:
        out.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_after_an_exception_the_old_file_stays_and_no_draft_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(str(path)) as out:
        out.write("new \ud800")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with replacing(str(tmp_path / "out")):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640


def test_a_folder_that_does_not_exist_is_the_users_error(tmp_path: Path) -> None:
    path = str(tmp_path / "none" / "out")
    with pytest.raises(UserError, match=f"cannot write '{path}': No such file or directory"), replacing(path):
        pass


def test_a_device_is_written_to_and_not_replaced() -> None:
    with replacing(os.devnull) as out:
        out.write("x")
    assert not os.path.isfile(os.devnull)


def test_a_draft_of_a_killed_run_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "state.new").write_bytes(b"a part of someth")
    replace_whole(tmp_path / "state", b"all", tmp_path / "state.new")
    assert (tmp_path / "state").read_bytes() == b"all"
    assert os.listdir(tmp_path) == ["state"]


def test_a_draft_that_nobody_wrote_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), drafted(tmp_path / "out"):
        pass


def test_an_output_may_not_replace_an_input_or_another_kind_of_file(tmp_path: Path) -> None:
    page, text = tmp_path / "page.html", tmp_path / "text"
    page.write_text("<!DOCTYPE html><p>")
    text.write_text("notes")
    check_place("--html", str(page), PAGE, [file_id(str(text)), None])
    check_place("--html", "-", PAGE, [])
    check_place("--html", str(tmp_path / "new"), PAGE, [])
    for path, kind, inputs, message in (
        (page, PAGE, [file_id(str(page))], "is an input as well; choose another name"),
        (text, PAGE, [], "exists and is not an HTML page; remove it or choose another name"),
        (page, PARQUET, [], "exists and is not a Parquet file; remove it or choose another name"),
        (tmp_path, PAGE, [], "is a directory"),
    ):
        with pytest.raises(UserError, match=f"^--html: '{path}' {message}$"):
            check_place("--html", str(path), kind, inputs)


@pytest.mark.parametrize(
    ("value", "found"), [(None, "/home/me/.config"), ("", "/home/me/.config"), ("x", "/home/me/.config"), ("/x", "/x")]
)
def test_an_empty_or_relative_base_directory_counts_as_unset(
    value: str | None, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", value)
    assert base_directory("XDG_CONFIG_HOME", ".config") == found
    assert default_paths("mosquitto_pub") == [f"{found}/mosquitto_pub"]


def test_a_lent_file_is_closed_and_only_its_owners() -> None:
    with lent(BytesIO(b"a secret"), "key.pem") as path:
        assert Path(path).read_bytes() == b"a secret"
        assert os.stat(path).st_mode & 0o77 == 0
        for descriptor in range(100):
            with suppress(OSError):
                assert not os.path.samestat(os.fstat(descriptor), os.stat(path))
    assert not Path(path).parent.exists()
