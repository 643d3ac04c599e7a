"""Files, folders and globs become a list in the order in which they were captured."""

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.spark.pipeline.sources import NoSource, Source, examine, expand, opens, ordered, same_beginning
from mqttpub.spark.storage.files import BadLocation
from tests.build.object_store import ObjectStore
from tests.build.variations import CapturedFrame, pcap


def capture(path: Path, second: int) -> Path:
    """Write a capture of one record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pcap([CapturedFrame(second * 1_000_000_000, bytes(20))]))
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


def test_urls_and_paths_are_put_in_one_order(s3: str, s3_server: ObjectStore, tmp_path: Path) -> None:
    for name, second in (("c", 5), ("a", 7), ("_b", 5), ("d", 1)):
        s3_server.put(s3[len("s3://") :], f"day/{name}", capture(tmp_path / "given", second).read_bytes())
    capture(tmp_path / "given", 6)
    found = expand([f"{s3}/day", str(tmp_path / "given"), f"{s3}/day/a"])
    assert [each.name for each in found] == [f"{s3}/day/d", f"{s3}/day/c", str(tmp_path / "given"), f"{s3}/day/a"]
    for each in found:
        assert each.path == each.name
        assert each._replace(name="", path="", stamp=0, digest="") == examine("", str(tmp_path / "given"))._replace(
            path="", stamp=0, digest=""
        )
    assert same_beginning(found[0]._replace(head=0), found[0].head, found[0].digest)


def test_a_url_of_nothing_is_reported(s3: str) -> None:
    for url, words in ((f"{s3}/none/*.pcap", "there is nothing at 's3://.*none/"), (s3, "there is nothing at ")):
        with pytest.raises(NoSource, match=words):
            expand([url])
    assert opens(f"{s3}/x")
    assert opens("/x")
    assert not opens("viewfs://ring/data")
    with pytest.raises(BadLocation, match="credentials"):
        opens("s3://key:hush@bucket/x")
