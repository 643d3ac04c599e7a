"""Keeping a second writer out of a folder on any storage.

On this machine the lock is that of the operating system, which ends with the process. Elsewhere it is
an object that its owner writes again every few seconds; one that was not for a while belongs to a run that
was stopped, and the next run takes it over. A run that is only slow, such as one on a machine that slept,
finds out when it writes next, and its commit fails if the other one committed.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ...common.system import lock
from .folder import StorageFolder
from .objects import ObjectChanged, StoredObject

LOCK = "_lock"
BEAT_S = 10.0
"""Seconds between two writes of a lock."""
DEAD_S = 60.0
"""A lock that was not written for so many seconds belongs to nobody."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class FolderLocked(Exception):
    """Another run writes to the folder; the message says which, as far as that is known."""


class FolderLock:
    """A lock that is held."""

    def check(self) -> None:
        """Raise FolderLocked if another run took the lock over."""


@contextmanager
def locked(folder: StorageFolder, run: str) -> Iterator[FolderLock]:
    """Keep other runs out of a folder; raises FolderLocked."""
    if folder.is_local:
        with _flock(folder):
            yield FolderLock()
        return
    held = _ObjectLock(folder, run)
    try:
        yield held
    finally:
        held.release()


@contextmanager
def _flock(folder: StorageFolder) -> Iterator[None]:
    # Appending leaves a foreign file of this name unchanged.
    with open(folder.place(LOCK), "a") as file:
        try:
            lock(file)
        except OSError:
            raise FolderLocked(f"another run writes to {folder}") from None
        yield


class _ObjectLock(FolderLock):
    def __init__(self, folder: StorageFolder, run: str) -> None:
        self._folder = folder
        self._run = run
        self._beats = 0
        self._taken_over = False
        self._stop = Event()
        self._held = self._acquire()
        self._thread = Thread(target=self._beat, daemon=True)
        self._thread.start()

    def check(self) -> None:
        now = self._folder.stored(LOCK)
        if self._taken_over or now is None or _owner(now).get("run") != self._run:
            raise FolderLocked(f"another run took {self._folder} over, as this one did not answer for {DEAD_S:.0f} s")

    def release(self) -> None:
        """Give the lock back."""
        self._stop.set()
        self._thread.join()
        now = self._folder.stored(LOCK)
        if now and _owner(now).get("run") == self._run:
            self._folder.remove([LOCK])

    def _acquire(self) -> StoredObject:
        found = self._folder.stored(LOCK)
        if found and not self._is_abandoned(found):
            raise FolderLocked(self._busy(found))
        try:
            return self._folder.swap(LOCK, self._content(), found)
        except ObjectChanged:
            raise FolderLocked(f"another run has just begun to write to {self._folder}") from None

    def _busy(self, found: StoredObject) -> str:
        owner = _owner(found)
        return (
            f"another run writes to {self._folder}: {owner.get('run')} on {owner.get('host')}; if that was stopped, "
            f"the folder is free again {DEAD_S:.0f} s later"
        )

    def _is_abandoned(self, found: StoredObject) -> bool:
        owner = _owner(found)
        if owner.get("boot") == _boot() and not _is_alive(owner.get("process")):
            return True
        probe = f"{LOCK}-{self._run}"
        # Both times are of one clock, that of the storage.
        with self._folder.create(probe) as file:
            file.write(b"")
        try:
            return self._folder.modified_s(probe) - self._folder.modified_s(LOCK) > DEAD_S
        except FileNotFoundError:
            # It was released meanwhile, which the write on condition finds out.
            return True
        finally:
            self._folder.remove([probe])

    def _content(self) -> bytes:
        self._beats += 1
        about = {"run": self._run, "host": socket.gethostname(), "boot": _boot(), "process": os.getpid()}
        return json.dumps({**about, "beats": self._beats}).encode()

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_S):
            try:
                self._held = self._folder.swap(LOCK, self._content(), self._held)
            except ObjectChanged:
                self._taken_over = True
                return
            except OSError:
                # The storage may answer again before the lock counts as abandoned.
                continue


def _owner(found: StoredObject) -> dict[str, Any]:
    with suppress(ValueError):
        value = json.loads(found.data)
        if isinstance(value, dict):
            return value
    return {}


def _boot() -> str:
    """Return what identifies the processes that have numbers of their own; empty if that is unknown."""
    with suppress(OSError):
        # Containers of one machine number their processes apart.
        return f"{_BOOT.read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    return ""


def _is_alive(process: Any) -> bool:
    if not isinstance(process, int) or not _boot():
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
