"""Files at URLs are opened and found as those on this machine are."""

import os
from pathlib import Path

import pytest

from mqttpub.spark.storage.files import (
    BadLocation,
    FoundFile,
    as_path,
    find_files,
    is_url,
    locate,
    open_file,
    reason,
    size_bytes,
)
from tests.build.object_store import ObjectStore

NAMES = (
    "ring/1.pcap", "ring/2.pcap", "ring/deep/er/3.pcap", "ring/_staging-x/4.pcap", "ring/.5.pcap", "ring/notes.txt",
    "other/1 of 2%20#?.pcap", "ring/tables/_manifest.json", "ring/tables/packets/a.parquet", "x[1].pcap",
)  # fmt: skip


@pytest.fixture
def filled(s3: str, s3_server: ObjectStore) -> str:
    """Return the URL of a bucket with some objects."""
    for name in NAMES:
        s3_server.put(s3[len("s3://") :], name, name.encode())
    return s3


def found(url: str) -> list[str]:
    """Return the names below the bucket of the files that a URL names."""
    return ["/".join(each.url.split("/")[3:]) for each in find_files(url, "_manifest.json")]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("ring", ["ring/1.pcap", "ring/2.pcap", "ring/deep/er/3.pcap", "ring/notes.txt"]),
        ("ring/", ["ring/1.pcap", "ring/2.pcap", "ring/deep/er/3.pcap", "ring/notes.txt"]),
        ("ring/1.pcap", ["ring/1.pcap"]),
        ("ring/*.pcap", ["ring/1.pcap", "ring/2.pcap"]),
        ("ring/{2,1}.pcap", ["ring/1.pcap", "ring/2.pcap"]),
        ("ring/**/*.pcap", ["ring/1.pcap", "ring/2.pcap", "ring/deep/er/3.pcap"]),
        ("r*/deep", ["ring/deep/er/3.pcap"]),
        ("*/[1-9].pcap", ["ring/1.pcap", "ring/2.pcap"]),
        ("other/1 of 2%20#?.pcap", ["other/1 of 2%20#?.pcap"]),
        ("x[1].pcap", ["x[1].pcap"]),
        ("none", []),
        ("none/*", []),
    ],
)
def test_files_folders_and_globs_are_found(filled: str, given: str, expected: list[str]) -> None:
    assert found(f"{filled}/{given}") == expected


def test_a_file_keeps_the_scheme_of_the_url_and_has_a_size(filled: str) -> None:
    url = f"{filled}/ring/1.pcap".replace("s3:", "s3a:")
    (first,) = find_files(url)
    assert first == FoundFile(url, len("ring/1.pcap"), first.modified_ns)
    assert first.modified_ns > 0
    assert [each[:2] for each in find_files(url.replace("1.", "?."))] == [
        (url.replace("1.", f"{n}."), 11) for n in (1, 2)
    ]


def test_a_file_is_read_from_any_offset(s3: str, s3_server: ObjectStore) -> None:
    data = os.urandom(3_000_000)
    s3_server.put(s3[len("s3://") :], "a", data)
    with open_file(f"{s3}/a", read_bytes=1 << 16) as file:
        assert size_bytes(file) == len(data)
        file.seek(1_234_567)
        assert file.read(100_000) == data[1_234_567:1_334_567]
        assert file.tell() == 1_334_567
        file.seek(0)
        assert file.read() == data


def test_paths_are_opened_as_before(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with open_file(str(tmp_path / "a")) as file:
        assert file.read(2) == b"ab"


def test_what_fsspec_knows_is_opened_by_it() -> None:
    from fsspec.implementations.memory import MemoryFileSystem

    MemoryFileSystem().pipe("/ring/a", b"abc")
    MemoryFileSystem().pipe("/ring/b", b"de")
    assert [each.size_bytes for each in find_files("memory://ring/*")] == [3, 2]
    with open_file("memory://ring/b") as file:
        assert file.read() == b"de"


def test_missing_files_and_buckets_are_errors_of_the_system(s3: str) -> None:
    with pytest.raises(FileNotFoundError):
        open_file(f"{s3}/none")
    assert find_files("s3://there-is-no-such-bucket/x/*") == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3://key:hush@bucket/x", "s3://bucket contains credentials"),
        ("s3://key@bucket/x", "s3://bucket contains credentials"),
        ("webhdfs://me:hush@host/x", "webhdfs://host contains credentials"),
        ("nosuch://bucket/x", "nosuch"),
        ("day:/x", "names no host or bucket"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_in_one_sentence(url: str, words: str) -> None:
    with pytest.raises(BadLocation, match=words) as told:
        locate(url)
    assert "\n" not in str(told.value)
    assert "hush" not in str(told.value)


def test_a_message_contains_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush/hush")
    error = OSError(
        "When reading 'x' in bucket 'y': AWS Error ACCESS_DENIED during GetObject: bad\n hush/hush Detail: z"
    )
    assert reason(error) == "ACCESS_DENIED during GetObject: bad ***"
    assert reason(OSError(2, "No such file or directory")) == "No such file or directory"


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
    (tmp_path / "day:").mkdir()
    (tmp_path / "day:" / "x").touch()
    assert not is_url("day:/x")
    assert is_url("day:/y")


@pytest.mark.parametrize("given", ["file:/a b%20c", "file:///a b%20c", "file://localhost/a b%20c", "FILE:/a b%20c"])
def test_urls_of_files_are_paths(given: str) -> None:
    assert as_path(given) == "/a b%20c"
    assert as_path("s3a://b/x") == "s3a://b/x"


def test_a_file_of_another_host_is_refused() -> None:
    with pytest.raises(BadLocation, match="is a file on the host far"):
        as_path("file://far/x")
