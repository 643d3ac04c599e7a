"""The file of an outbox: private from its first byte, used by one program at a time, and checked before it is used.

It is an SQLite database with a rollback journal, so every finished change is in the file itself. SQLite notices
damage to its own structure; seals show a changed byte of a message, and the head says how many messages there are.
A message with a changed byte is passed over and stays as it is; with any other damage, the file is not used.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple
from zlib import crc32

from ..failures import Exit, Failure

APPLICATION_ID = int.from_bytes(b"MQTP")
"""Marks the database as an outbox, in the header of the file."""
FORMAT = 2
SCHEMA = {
    "head": "CREATE TABLE head (client_id BLOB, version TEXT, input TEXT, place INTEGER NOT NULL, "
    "messages INTEGER NOT NULL, last INTEGER NOT NULL, seal INTEGER NOT NULL)",
    "message": "CREATE TABLE message (number INTEGER PRIMARY KEY, state INTEGER NOT NULL, packet_id INTEGER, "
    "packet BLOB NOT NULL, seal INTEGER NOT NULL)",
}
LOT_BYTES = 1 << 20
"""Length of the packets that are read at once; the last one may make it more."""
POLL = 0.1
"""Seconds between two looks at a file that another program uses."""
UNREADABLE = frozenset((sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_FSTAT, sqlite3.SQLITE_IOERR_LOCK))
UNWRITABLE = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR))
UNUSABLE = frozenset((
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_TOOBIG,
))  # fmt: skip


class OutboxError(Failure):
    """The file is not an outbox, is damaged, or is not for this connection."""

    status = Exit.USAGE


class OutboxNotWritten(Failure):
    """The outbox takes nothing more, such as on a full disk; what it had is still there."""

    status = Exit.NOT_WRITTEN


class Head(NamedTuple):
    """What an outbox stores besides its messages."""

    client_id: bytes | None = None
    version: str | None = None
    input: str | None = None
    place: int = 0
    """Offset in the input, in bytes, after the last message that was kept."""
    messages: int = 0
    """Number of messages."""
    last: int = 0
    """Number of the newest message ever kept."""


class Change:
    """A change while it is made; `head` is how the head will be after it."""

    def __init__(self, base: sqlite3.Connection, head: Head) -> None:
        self._base = base
        self.head = head

    def execute(self, statement: str, rows: list[tuple[Any, ...]]) -> int:
        """Execute a statement for each row of parameters and return how many messages it changed."""
        return self._base.executemany(statement, rows).rowcount if rows else 0


class OutboxFile:
    """An open file. Raises OutboxError and OutboxNotWritten, here and in every method.

    `wait_s` is how many seconds to wait while another program uses it; `remark` gets a sentence about the wait.
    """

    def __init__(self, path: str, *, wait_s: float = 0.0, remark: Callable[[str], None] = lambda text: None) -> None:
        self.path = path
        self.damaged: dict[int, bool] = {}
        """The numbers of messages of which a byte was changed, and whether each was perhaps sent; in order."""
        self._file = _file(path)
        self._base = self._locked(wait_s, remark)
        try:
            with self._sentences(opening=True):
                self.head = self._checked()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file and let other programs use it."""
        self._base.close()

    def rows(self, query: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        """Return what a query yields."""
        with self._sentences():
            return self._base.execute(query, parameters).fetchall()

    def some_rows(self, query: str, parameters: tuple[Any, ...]) -> list[Any]:
        """Return the first of the rows that a query yields; packets, in the last column, are read up to LOT_BYTES."""
        rows: list[Any] = []
        read_bytes = 0
        with self._sentences(), closing(self._base.execute(query, parameters)) as found:
            for row in found:
                rows.append(row)
                read_bytes += len(row[-1])
                if read_bytes >= LOT_BYTES:
                    break
        return rows

    @contextmanager
    def change(self) -> Iterator[Change]:
        """Make one change: it is on disk when the block ends, or it is not made at all."""
        with self._sentences():
            self._base.execute("BEGIN")
            try:
                change = Change(self._base, self.head)
                yield change
                if change.head != self.head:
                    self._base.execute(_WRITE_HEAD, (*change.head, seal(*change.head)))
                self._base.execute("COMMIT")
            except BaseException:
                # Where even this fails, the next program that opens the file does it.
                with suppress(sqlite3.Error):
                    self._base.rollback()
                raise
        self.head = change.head

    # opening

    def _locked(self, wait_s: float, remark: Callable[[str], None]) -> sqlite3.Connection:
        """Return a connection that holds the lock of the file until it is closed; the kernel frees it after a crash."""
        until, waiting = time.monotonic() + wait_s, False
        while True:
            with self._sentences(opening=True):
                base = sqlite3.connect(self._file, isolation_level=None, timeout=0)
                try:
                    base.execute("PRAGMA locking_mode = EXCLUSIVE")
                    base.execute("BEGIN EXCLUSIVE")
                    # In this mode the end of a transaction does not free the lock, and nothing was written.
                    base.execute("ROLLBACK")
                except BaseException as error:
                    base.close()
                    if _code(error) != sqlite3.SQLITE_BUSY:
                        raise
                else:
                    return base
            if time.monotonic() >= until:
                after = f" after {wait_s:g} s" if waiting else ""
                raise OutboxError(f"'{self.path}' is{' still' if waiting else ''} in use by another program{after}")
            if not waiting:
                remark(f"waiting for another program that uses the outbox '{self.path}'")
                waiting = True
            # Not SQLite's own wait, which an interrupt cannot end.
            time.sleep(POLL)

    def _checked(self) -> Head:
        """Return the head of a file that is whole; an empty one is made an outbox."""
        base = self._base
        base.create_function("seal", -1, seal, deterministic=True)
        if os.path.getsize(self._file):
            self._check_kind()
            _make_private(self._file)
            _make_private(f"{self._file}-journal")
        base.execute("PRAGMA journal_mode = DELETE")
        base.execute("PRAGMA synchronous = FULL")
        if not os.path.getsize(self._file):
            _make_private(self._file)
            self._begin()
        return self._check_content()

    def _begin(self) -> None:
        base = self._base
        base.execute("BEGIN")
        base.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        base.execute(f"PRAGMA user_version = {FORMAT}")
        for statement in SCHEMA.values():
            base.execute(statement)
        head = Head()
        base.execute("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?, ?)", (*head, seal(*head)))
        base.execute("COMMIT")

    def _check_kind(self) -> None:
        application, written = (self._base.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
        if application != APPLICATION_ID:
            raise OutboxError(f"'{self.path}' is a database, but not an outbox of this program; name another file")
        if written != FORMAT:
            raise OutboxError(f"'{self.path}' was written by another version of the program")

    def _check_content(self) -> Head:
        base = self._base
        ((found,),) = base.execute("PRAGMA quick_check(1)").fetchall()
        if found != "ok":
            raise self._damaged(str(found).splitlines()[-1])
        if dict(base.execute("SELECT name, sql FROM sqlite_master")) != SCHEMA:
            raise self._damaged("its tables are not those of an outbox")
        heads = base.execute("SELECT * FROM head").fetchall()
        if len(heads) != 1 or seal(*heads[0][:-1]) != heads[0][-1]:
            raise self._damaged("its head was changed")
        head = Head(*heads[0][:-1])
        self.damaged = {number: bool(begun) for number, begun in base.execute(_BROKEN)}
        ((count,),) = base.execute("SELECT count(*) FROM message").fetchall()
        if count != head.messages:
            raise self._damaged(f"it holds {count} messages, but {head.messages} were stored")
        return head

    # failures

    @contextmanager
    def _sentences(self, *, opening: bool = False) -> Iterator[None]:
        """Turn the errors of SQLite and of the system into those of an outbox."""
        try:
            yield
        except OSError as error:
            raise OutboxError(f"'{self.path}' cannot be used as an outbox: {error.strerror}") from error
        except UnicodeDecodeError:
            # SQLite quotes bytes of a broken table in its message.
            raise self._damaged("its tables are not those of an outbox") from None
        except sqlite3.Error as error:
            raise self._failure(error, opening) from error

    def _failure(self, error: sqlite3.Error, opening: bool) -> Failure:
        code = _code(error)
        if code == sqlite3.SQLITE_NOTADB:
            return OutboxError(f"'{self.path}' is not an outbox, or is incomplete: {error}; name another file")
        if getattr(error, "sqlite_errorcode", None) in UNREADABLE or (opening and code in UNUSABLE):
            return OutboxError(f"'{self.path}' cannot be used as an outbox: {error}")
        if code in UNWRITABLE or code in UNUSABLE:
            return OutboxNotWritten(f"the outbox '{self.path}' cannot be written: {error}")
        return self._damaged(str(error))

    def _damaged(self, how: str) -> OutboxError:
        return OutboxError(
            f"the outbox '{self.path}' is damaged: {how}; move it away to start a new one "
            "(sqlite3 FILE .recover shows what is left of it)"
        )


_MARKS = ("application_id", "user_version")
_WRITE_HEAD = "UPDATE head SET client_id = ?, version = ?, input = ?, place = ?, messages = ?, last = ?, seal = ?"
WHOLE = "seal IS seal(number, state, packet_id, packet)"
"""Whether a row of a message is as it was written."""
_BROKEN = f"SELECT number, state OR packet_id IS NOT NULL FROM message WHERE NOT {WHOLE} ORDER BY number"


def seal(*values: object) -> int:
    """Return a check sum of the values of a row."""
    check = 0
    for value in values:
        check = crc32(value if isinstance(value, bytes) else ascii(value).encode(), check)
        check = crc32(b"\0", check)
    return check


def _code(error: BaseException) -> int | None:
    """Return the primary result code of SQLite; None where Python could not read what SQLite gave it."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _file(path: str) -> str:
    """Return the file that a path leads to; it is created, for its owner only, where there is none."""
    if path in ("", ":memory:"):
        raise OutboxError(f"'{path}' is not the name of a file")
    try:
        file = os.path.realpath(path)
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        why_not = _why_not(file)
    except (OSError, ValueError) as error:
        why_not = str(getattr(error, "strerror", None) or error)
    if why_not:
        raise OutboxError(f"'{path}' cannot be used as an outbox: {why_not}")
    return file


def _why_not(file: str) -> str:
    if not stat.S_ISREG(os.stat(file).st_mode):
        return "it is not a regular file"
    if not os.access(file, os.W_OK):
        return "it cannot be written"
    # SQLite keeps its journal there.
    return "" if os.access(os.path.dirname(file), os.W_OK) else "its folder cannot be written"


def _make_private(file: str) -> None:
    """Let nobody but the owner read a file, if it is there."""
    with suppress(FileNotFoundError):
        mode = stat.S_IMODE(os.stat(file).st_mode)
        if mode & 0o077:
            try:
                os.chmod(file, mode & 0o700)
            except PermissionError as error:
                raise OSError(error.errno, "others can read it, and only its owner can change that") from None
