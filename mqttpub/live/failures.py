"""What can go wrong between here and the broker, each with its exit status."""

from enum import IntEnum


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
    """The output, or the outbox, cannot be written, as sysexits.h has it."""
    INTERRUPTED = 130


class Failure(Exception):
    """A run ended without success; the text is one sentence for people."""

    status = Exit.UNKNOWN


class Unusable(Failure):
    """A setting of ours cannot be used; nothing was sent.

    `part` is the field of Tls or Transport that is to blame.
    """

    status = Exit.USAGE

    def __init__(self, message: str, part: str) -> None:
        super().__init__(message)
        self.part = part


class NotConnected(Failure):
    """Name, TCP, TLS, WebSocket or proxy failed; nothing was sent."""

    status = Exit.NOT_CONNECTED


class _WithCode(Failure):
    """A failure that comes with a Reason Code, or a return code before 5.0."""

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


class Lost(Unanswered):
    """The connection broke while something was awaited."""


class Interrupted(Failure):
    """The user ended the run; the text says what was still awaited."""

    status = Exit.INTERRUPTED


class PeerFault(Failure):
    """The broker broke the protocol.

    `data` is the packet, or the bytes that could not be cut into packets.
    """

    status = Exit.PEER_FAULT

    def __init__(self, message: str, data: bytes = b"") -> None:
        super().__init__(message)
        self.data = data
