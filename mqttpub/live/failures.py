"""What can go wrong between the program and the broker, each with its exit status.

    Failure                     6  UNKNOWN, unless a class below says otherwise
     +-- Unusable               2  USAGE: a setting cannot be used; nothing was sent
     +-- OutboxError            2  USAGE: not an outbox, damaged, or for another connection (publish/store)
     +-- NotConnected           3  NOT_CONNECTED: name, TCP, TLS, WebSocket or proxy failed
     |    +-- NoConnack         3  the broker closed or stayed silent instead of sending CONNACK
     +-- ConnectionRefused      4  CONNECTION_REFUSED: CONNACK with a refusal
     +-- Refused                5  REFUSED: a message or a subscription; or a DISCONNECT with a reason
     +-- Unanswered             6  UNKNOWN: the deadline passed while something was awaited
     |    +-- ConnectionLost    6  the connection broke while something was awaited
     +-- PeerFault              7  PEER_FAULT: the broker broke the protocol
     +-- OutboxNotWritten      74  NOT_WRITTEN: such as on a full disk (publish/store)
     +-- Interrupted          129, 130 or 143, by the signal

    OutOfOrder (a ValueError)      an acknowledgement that cannot come now; a session makes it a PeerFault

A run that ends without a Failure gets its status from what became of the messages: cli/pub/outcome.RunResult.status.
"""

from enum import IntEnum

from ..common.words import plural


class Exit(IntEnum):
    """Exit status of the program."""

    DONE = 0
    FINDINGS = 1
    USAGE = 2
    NOT_CONNECTED = 3
    CONNECTION_REFUSED = 4
    REFUSED = 5
    UNKNOWN = 6
    PEER_FAULT = 7
    NOT_WRITTEN = 74
    """The output or the outbox cannot be written, or a message of the outbox is damaged; EX_IOERR of sysexits.h."""
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class Failure(Exception):
    """A run ended without success; the text is one sentence for people."""

    status = Exit.UNKNOWN


class Unusable(Failure):
    """A setting cannot be used; nothing was sent.

    `part` is its field in Tls or Transport.
    """

    status = Exit.USAGE

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


class NotConnected(Failure):
    """Name, TCP, TLS, WebSocket or proxy failed; nothing was sent."""

    status = Exit.NOT_CONNECTED


class NoConnack(NotConnected):
    """The broker was reached, but closed or stayed silent instead of sending CONNACK; no message was sent."""


class _WithCode(Failure):
    """A failure with a Reason Code, or before 5.0 a return code."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class ConnectionRefused(_WithCode):
    """The broker answered CONNECT with a refusal."""

    status = Exit.CONNECTION_REFUSED


class Refused(_WithCode):
    """The broker refused a message, or closed with a reason."""

    status = Exit.REFUSED


class Unanswered(Failure):
    """The deadline passed or the connection was lost while something was awaited."""

    status = Exit.UNKNOWN


class ConnectionLost(Unanswered):
    """The connection broke while something was awaited."""


class Interrupted(Failure):
    """A signal ended the run; the text says what was still awaited."""

    status = Exit.INTERRUPTED

    def __init__(self, message: str, status: Exit = Exit.INTERRUPTED) -> None:
        super().__init__(message)
        self.status = status


MALFORMED, PROTOCOL_ERROR = 0x81, 0x82
"""Reason Codes of a DISCONNECT."""
MOST_SHOWN_BYTES = 32
"""How much of a faulty packet is shown."""
MOST_SHOWN_OF_SECRETS_BYTES = 5
"""The same for packets that can hold Authentication Data; these bytes lie before it."""
WITH_SECRETS = (0x2, 0xF)
"""Types of the packets from a server that can hold Authentication Data: CONNACK and AUTH."""


class OutOfOrder(ValueError):
    """An acknowledgement that cannot come now; a session turns it into a PeerFault."""


class PeerFault(Failure):
    """The broker broke the protocol; the text ends with the first bytes of what it sent.

    `data` is the packet, or the bytes that could not be cut into packets; `code` is the Reason
    Code for the DISCONNECT that 5.0 asks a client to answer with, 0 for none (5.0: 4.13.1).
    """

    status = Exit.PEER_FAULT

    def __init__(self, message: str, data: bytes = b"", code: int = PROTOCOL_ERROR) -> None:
        super().__init__(f"{message}: {_hex(data)}" if data else message)
        self.data = data
        self.code = code


def _hex(data: bytes) -> str:
    most = MOST_SHOWN_OF_SECRETS_BYTES if data[0] >> 4 in WITH_SECRETS else MOST_SHOWN_BYTES
    rest = len(data) - most
    return data[:most].hex(" ") + (f" and {rest} {plural(rest, 'more byte')}" if rest > 0 else "")
