"""Messages that are not acknowledged yet, kept in a file (SQLite) until they are.

Every change that an exchange depends on is on disk before its packet goes out. So a message
survives the program, the broker and the machine, and a QoS 2 message whose session lives is
delivered once: after a crash it goes on from PUBLISH (with DUP) or from PUBREL, whichever was
noted last (5.0: 4.3.3, 4.4).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..codec.publish import PublishWriter
from ..codec.values import values
from ..spec.packets import Publish
from ..spec.terms import Version
from .flows import PUBCOMP, Exchange, Message

STORED, SENT, RELEASED, DOUBTFUL = range(4)
"""How far a message has come: kept only; perhaps sent; PUBREC came, so it is not sent again; nobody can know."""
FORMAT = "1"
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS message (
    number INTEGER PRIMARY KEY AUTOINCREMENT, state INTEGER NOT NULL, packet_id INTEGER, packet BLOB NOT NULL
);
"""
PLACEHOLDER = 1
"""Packet Identifier in stored packets that have none of their own yet."""


class OutboxError(ValueError):
    """The file is no outbox, or not one for this connection."""


class Kept(NamedTuple):
    """One message of an outbox."""

    number: int
    state: int
    packet_id: int | None
    packet: Publish


class Outbox:
    """An open outbox; a journal for a Publisher. Raises OutboxError, and sqlite3.Error for the disk."""

    def __init__(self, path: str) -> None:
        try:
            self._base = sqlite3.connect(path, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise OutboxError(f"'{path}' cannot be used as an outbox: {error}") from None
        self.path = path
        if self._meta("format") not in (None, FORMAT):
            raise OutboxError(f"'{path}' was written by another version of the program")

    def __enter__(self) -> "Outbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    # what it is for

    @property
    def client_id(self) -> str | None:
        """The Client Identifier whose session the messages belong to."""
        return self._meta("client_id")

    def claim(self, client_id: str, version: Version) -> None:
        """Bind the outbox to a Client Identifier and a version, or check that it is bound to them."""
        if self.client_id is None:
            with self._base:
                self._base.execute("BEGIN IMMEDIATE")
                pairs = {"format": FORMAT, "client_id": client_id, "version": version.label}
                self._base.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", pairs.items())
            return
        for key, value in (("client_id", client_id), ("version", version.label)):
            if self._meta(key) != value:
                raise OutboxError(f"'{self.path}' belongs to {key} '{self._meta(key)}', not '{value}'")

    def _meta(self, key: str) -> str | None:
        row = self._base.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    # messages

    def add(self, messages: Sequence[Message], place: tuple[str, int] | None = None) -> list[Message]:
        """Keep new messages and return them with their numbers as tokens.

        `place` is the input and the offset behind them in it, to go on from after a crash.
        """
        numbered = []
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            for message in messages:
                data = message.writer.write(message.payload, PLACEHOLDER if message.writer.qos else None)
                cursor = self._base.execute("INSERT INTO message (state, packet) VALUES (?, ?)", (STORED, data))
                numbered.append(message._replace(token=cursor.lastrowid))
            if place:
                self._base.execute("INSERT OR REPLACE INTO meta VALUES ('input', ?)", (f"{place[1]} {place[0]}",))
        return numbered

    def place(self, input: str) -> int:
        """Return the offset up to which an input was taken by an earlier run; 0 for another input."""
        offset, _, name = (self._meta("input") or "0 ").partition(" ")
        return int(offset) if name == input else 0

    def forget_place(self) -> None:
        """Note that the input was read to its end and all of it was acknowledged."""
        self._base.execute("DELETE FROM meta WHERE key = 'input'")

    def note(self, sent: Sequence[Exchange], released: Sequence[Exchange], done: Sequence[Exchange]) -> None:
        """Write down what is about to be sent, what PUBREL is about to be sent for, and what has ended."""
        base = self._base
        with base:
            base.execute("BEGIN IMMEDIATE")
            base.executemany(
                "UPDATE message SET state = 1, packet_id = ? WHERE number = ?",
                [(each.packet_id, each.token) for each in sent],
            )
            base.executemany("UPDATE message SET state = 2 WHERE number = ?", [(each.token,) for each in released])
            base.executemany("DELETE FROM message WHERE number = ?", [(each.token,) for each in done])

    def doubt(self, exchanges: Sequence[Exchange]) -> None:
        """Note that it cannot be known whether these arrived; they stay, and are not sent again by themselves."""
        with self._base:
            numbers = [(each.token,) for each in exchanges]
            self._base.executemany("UPDATE message SET state = 3 WHERE number = ?", numbers)

    def renew_doubtful(self) -> int:
        """Make the doubtful messages new ones, and return how many."""
        return self._base.execute("UPDATE message SET state = 0, packet_id = NULL WHERE state = 3").rowcount

    def count(self) -> int:
        """Return how many messages are kept."""
        return int(self._base.execute("SELECT count(*) FROM message").fetchone()[0])

    def kept(self, version: Version, *, begun: bool) -> Iterator[Kept]:
        """Yield the messages that were begun, or those that were not, in order; memory stays small."""
        last, states = 0, (SENT, RELEASED) if begun else (STORED, STORED)
        query = (
            "SELECT number, state, packet_id, packet FROM message "
            "WHERE state IN (?, ?) AND number > ? ORDER BY number LIMIT 1000"
        )
        while rows := self._base.execute(query, (*states, last)).fetchall():
            for number, state, packet_id, data in rows:
                packet = values(data, version)
                if not isinstance(packet, Publish):
                    raise OutboxError(f"'{self.path}': message {number} cannot be read")
                yield Kept(number, state, packet_id, packet)
            last = rows[-1][0]

    def exchanges(self, version: Version) -> Iterator[Exchange]:
        """Yield the exchanges that an earlier run began, as they stand."""
        for number, state, packet_id, packet in list(self.kept(version, begun=True)):
            if not packet.qos:
                # At most once: it was perhaps sent, so it is not sent again.
                self._base.execute("DELETE FROM message WHERE number = ?", (number,))
                continue
            message = Message(PublishWriter(packet, version), packet.payload, packet_id, number)
            exchange = Exchange(message, packet_id, _FIRST[packet.qos], 0.0)
            if state == RELEASED:
                exchange.awaits, exchange.message = PUBCOMP, None
            yield exchange


_FIRST = {0: 0, 1: 4, 2: 5}
