"""Files, folders and globs become a list in the order in which they were captured."""

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.spark.pipeline.sources import NoSource, Source, as_path, examine, expand, is_url, ordered, same_beginning
from tests.build.variations import Frame, pcap


def capture(path: Path, second: int) -> Path:
    """Write a capture of one record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap([Frame(second * 1_000_000_000, bytes(20))]))
    return path


def names(*given: Path | str) -> list[str]:
    return [Path(source.name).name for source in expand(str(each) for each in given)]


def test_the_first_record_gives_the_order_and_then_the_name(tmp_path: Path) -> None:
    for name, second in (("c", 5), ("a", 7), ("b", 5), ("d", 1)):
        capture(tmp_path / name, second)
    (tmp_path / "notes").write_text("30 02 00 00")
    assert names(tmp_path) == ["d", "b", "c", "a", "notes"]
    (tmp_path / "d").write_bytes(gzip.compress((tmp_path / "d").read_bytes()))
    assert names(tmp_path / "a", tmp_path / "d") == ["d", "a"]


def test_folders_are_read_recursively_without_hidden_files(tmp_path: Path) -> None:
    for name in ("x/y/1", "x/2", ".hidden", "_tmp/3", "x/.4"):
        capture(tmp_path / name, 1)
    assert names(tmp_path) == ["2", "1"]
    assert names(tmp_path / "x" / ".4") == [".4"]


def test_globs_and_repeats(tmp_path: Path) -> None:
    for name in ("a-1", "a-2", "b-1", "sub/a-3", "[x]"):
        capture(tmp_path / name, 1)
    assert names(tmp_path / "a-*", tmp_path / "a-1") == ["a-1", "a-2"]
    assert names(tmp_path / "**" / "a-?") == ["a-1", "a-2", "a-3"]
    assert names(tmp_path / "[x]") == ["[x]"]


def test_a_missing_source_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NoSource, match=r"cannot read '.*missing': No such file"):
        expand([str(tmp_path / "missing")])
    with pytest.raises(NoSource, match="nothing matches"):
        expand([str(tmp_path / "*.pcap")])
    with pytest.raises(NoSource, match="is empty"):
        expand([str(tmp_path)])


def test_unreadable_files_are_in_the_list(tmp_path: Path) -> None:
    capture(tmp_path / "good", 1)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    good, gone = expand([str(tmp_path)])
    assert not good.problem
    assert gone.problem == "No such file or directory"
    os.mkfifo(tmp_path / "pipe")
    assert next(each for each in expand([str(tmp_path)]) if each.name.endswith("pipe")).problem == "it is not a file"


def test_a_file_is_known_again(tmp_path: Path) -> None:
    path = capture(tmp_path / "a", 1)
    before = examine("a", str(path))
    path = path.rename(tmp_path / "b")
    with open(path, "ab") as file:
        file.write(b"more")
    after = examine("b", str(path))
    assert after.digest != before.digest
    assert same_beginning(after, before.head, before.digest)
    assert not same_beginning(before, after.head, after.digest)
    assert not same_beginning(examine("c", str(capture(tmp_path / "c", 2))), before.head, before.digest)


def _source(name: str, stamp: int | None) -> Source:
    return Source(name, "", 0, stamp=stamp)


stamps = st.none() | st.integers(0, 3)


@given(st.lists(st.builds(_source, st.text("ab", max_size=2), stamps), unique_by=lambda each: each.name))
def test_the_order_does_not_depend_on_the_order_given(sources: list[Source]) -> None:
    expected = ordered(sources)
    assert ordered(reversed(sources)) == expected
    known = [each.stamp is not None for each in expected]
    assert known == sorted(known, reverse=True)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("s3a://b/x", True),
        ("hdfs://h:1/x*", True),
        ("hdfs:/x", True),
        ("file:///x", True),
        ("file:/x", True),
        ("C://x", False),
        ("/a://b", False),
        ("x", False),
    ],
)
def test_urls(given: str, expected: bool) -> None:
    assert is_url(given) is expected


def test_a_name_that_looks_like_a_url_is_a_path_where_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capture(tmp_path / "day:" / "x", 1)
    assert not is_url("day:/x")
    assert is_url("day:/y")


@pytest.mark.parametrize("given", ["file:/a b%20c", "file:///a b%20c", "file://localhost/a b%20c", "FILE:/a b%20c"])
def test_urls_of_files_are_paths(given: str) -> None:
    assert as_path(given) == "/a b%20c"
    assert as_path("s3a://b/x") == "s3a://b/x"


def test_a_folder_that_cannot_be_listed_is_in_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture(tmp_path / "a" / "1", 1)
    capture(tmp_path / "locked" / "2", 2)
    real = os.scandir

    def scandir(path: str) -> Iterator[os.DirEntry[str]]:
        if os.path.basename(path) == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = {Path(each.name).name: each.problem for each in expand([str(tmp_path)])}
    assert found == {"1": "", "locked": "Permission denied"}
