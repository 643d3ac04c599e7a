"""Of several writers of an object one succeeds, on each storage that decides that itself."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Barrier, Lock, Thread
from typing import Any

import pytest

from mqttpub.spark.storage.files import BadLocation
from mqttpub.spark.storage.folder import StorageFolder
from mqttpub.spark.storage.objects import ObjectChanged, StoredObject
from tests.build.object_store import ObjectStore

EVERYWHERE = pytest.mark.parametrize("folder", ["s3", "gs", "abfs"], indirect=True)
GENERATION = "x-goog-if-generation-match"


def google(now: str, given: Any) -> int:
    """Return the status of a write as Google Cloud Storage documents it; a generation of 0 means that none is there."""
    return 412 if (given[GENERATION] or now or "0") != (now or "0") else 200


def azure(now: str, given: Any) -> int:
    """Return the status of a Put Blob as Azure documents it."""
    if given["If-None-Match"] == "*" and now:
        return 409
    return 412 if given["If-Match"] not in (None, f'"{now}"') else 201


@contextmanager
def served(status: Callable[[str, Any], int]) -> Iterator[str]:
    """Serve objects of which each write has a version, and yield the address."""
    objects: dict[str, tuple[str, bytes]] = {}
    versions, lock = count(1), Lock()

    class Answer(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                code = status(objects.get(self.path, ("", b""))[0], self.headers)
                if code < 400:
                    objects[self.path] = (str(next(versions)), data)
            self.answer(code, objects[self.path][0], b"")

        def do_GET(self) -> None:
            version, data = objects.get(self.path, ("", b""))
            self.answer(200 if version else 404, version, data)

        def answer(self, code: int, version: str, data: bytes) -> None:
            self.send_response(code)
            for name, value in (
                ("ETag", f'"{version}"'), ("x-goog-generation", version), ("Content-Length", str(len(data))),
                ("Last-Modified", "Fri, 31 Jan 2025 12:00:00 GMT"),
            ):  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[StorageFolder]:
    """Return a folder at an empty place of a storage."""
    # A bucket of its own, as a store is opened once in a process.
    bucket = f"test-{os.urandom(6).hex()}"
    if request.param == "s3":
        server: ObjectStore = request.getfixturevalue("s3_server")
        yield StorageFolder(f"{server.make(bucket)}/tables")
    elif request.param == "gs":
        with served(google) as address:
            monkeypatch.setenv("GOOGLE_BASE_URL", address)
            monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "of-the-tests")
            yield StorageFolder(f"gs://{bucket}/tables")
    else:
        with served(azure) as address:
            monkeypatch.setenv("AZURE_ENDPOINT", address)
            monkeypatch.setenv("AZURE_STORAGE_TOKEN", "of-the-tests")
            yield StorageFolder(f"abfs://{bucket}@account.dfs.core.windows.net/tables")


@EVERYWHERE
def test_an_object_is_replaced_only_if_it_is_what_was_seen(folder: StorageFolder) -> None:
    assert folder.stored("m") is None
    first = folder.swap("m", b"first", None)
    with pytest.raises(ObjectChanged):
        folder.swap("m", b"other", None)
    assert folder.stored("m") == first
    second = folder.swap("m", b"second", first)
    with pytest.raises(ObjectChanged):
        folder.swap("m", b"third", first)
    assert folder.stored("m") == second
    assert second.data == b"second"


@EVERYWHERE
def test_of_writers_at_the_same_time_one_succeeds(folder: StorageFolder) -> None:
    together = Barrier(8)

    def write(turn: int, number: int, seen: StoredObject | None) -> StoredObject | None:
        together.wait()
        try:
            # The ETag of S3 is that of the content, so nobody may write again what is there.
            return folder.swap("m", f"{turn} {number}".encode(), seen)
        except ObjectChanged:
            return None

    seen = None
    with ThreadPoolExecutor(8) as pool:
        for turn in range(3):
            (seen,) = filter(None, pool.map(write, [turn] * 8, range(8), [seen] * 8))
            assert folder.stored("m") == seen


@EVERYWHERE
def test_a_write_whose_answer_was_lost_has_succeeded(folder: StorageFolder) -> None:
    first = folder.swap("m", b"mine", None)
    assert folder.swap("m", b"mine", None) == first


def test_what_the_storage_says_is_the_error(s3_server: ObjectStore) -> None:
    there = StorageFolder("s3://there-is-no-such-bucket/x")
    with pytest.raises(OSError, match=r"^The specified bucket does not exist \(s3://there-is-no-such-bucket/x/m\)$"):
        there.swap("m", b"", None)
    with pytest.raises(BadLocation, match="'s3://b/x//y' has an empty name between two slashes"):
        StorageFolder("s3://b/x//y").stored("m")


def test_profiles_give_credentials(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "credentials").write_text("[plant]\naws_access_key_id = key\naws_secret_access_key = hush\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "plant")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    folder = StorageFolder(s3)
    assert folder.stored("m") is None
    assert folder.swap("m", b"mine", None).data == b"mine"
