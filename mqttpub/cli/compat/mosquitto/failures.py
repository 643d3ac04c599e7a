"""What went wrong, in the sentences and the exit statuses of the mosquitto clients."""

import os
import socket
from enum import IntEnum

from ....live.failures import (
    ConnectionLost,
    ConnectionRefused,
    Failure,
    NoConnack,
    NotConnected,
    PeerFault,
    Refused,
    Unanswered,
)
from ....spec.reason_codes import Codes
from ....spec.versions import Version


class Status(IntEnum):
    """Exit statuses: the error numbers of the library, of which 1 is also that of any wrong line."""

    DONE = 0
    USAGE = 1
    PROTOCOL = 2
    INVALID = 3
    NO_CONNECTION = 4
    REFUSED = 5
    LOST = 7
    TLS = 8
    TOO_LARGE = 9
    NOT_SUPPORTED = 10
    LOOKUP = 15
    PROXY = 16
    QOS_NOT_SUPPORTED = 24
    OVERSIZE = 25
    TIMEOUT = 27


SENTENCES = {
    Status.PROTOCOL: "A network protocol error occurred when communicating with the broker.",
    Status.NO_CONNECTION: "The client is not currently connected.",
    Status.REFUSED: "The connection was refused.",
    Status.LOST: "The connection was lost.",
    Status.TLS: "A TLS error occurred.",
    Status.NOT_SUPPORTED: "This feature is not supported.",
    Status.LOOKUP: "Lookup error.",
    Status.PROXY: "Proxy error.",
    Status.QOS_NOT_SUPPORTED: "Requested QoS not supported on server.",
    Status.OVERSIZE: "Packet larger than supported by the server.",
    Status.TIMEOUT: "Timed out",
}
OLD_REFUSALS = {
    1: "unacceptable protocol version", 2: "identifier rejected", 3: "broker unavailable",
    4: "bad user name or password", 5: "not authorised",
}  # fmt: skip
"""What a CONNACK before 5.0 refuses, in the client's words."""
UNSUPPORTED_VERSION = 0x84
OLD_VERSION = "Try connecting to an MQTT v5 broker, or use MQTT v3.x mode."


class Outcome(Exception):
    """How a run that failed ends: lines for standard error, and the exit status."""

    def __init__(self, status: int, *lines: str) -> None:
        super().__init__("; ".join(lines))
        self.status = status
        self.lines = lines


def outcome(failure: Failure, version: Version) -> Outcome:
    """Return how the client reports a failure."""
    if isinstance(failure, ConnectionRefused):
        return _refused(failure, version)
    if isinstance(failure, NoConnack):
        return _plain(Status.LOST if isinstance(failure.__cause__, ConnectionLost) else Status.TIMEOUT)
    if isinstance(failure, NotConnected):
        return _not_connected(failure)
    return _plain(next(status for kind, status in _STATUSES if isinstance(failure, kind)))


_STATUSES: tuple[tuple[type[Failure], Status], ...] = (
    (PeerFault, Status.PROTOCOL),
    (Refused, Status.NO_CONNECTION),
    (ConnectionLost, Status.LOST),
    (Unanswered, Status.TIMEOUT),
    (Failure, Status.INVALID),
)


def _plain(status: Status) -> Outcome:
    return Outcome(status, f"Error: {SENTENCES[status]}")


def _refused(failure: ConnectionRefused, version: Version) -> Outcome:
    code = failure.code
    return Outcome(code, f"Connection error: {refusal(code, version)}", f"Error: {_after_refusal(code, version)}")


def refusal(code: int, version: Version) -> str:
    """Return what a CONNACK says, in the client's words."""
    if version < Version.V5:
        return f"Connection Refused: {OLD_REFUSALS.get(code, 'unknown reason')}."
    words = Codes("CONNACK").name(code, version)
    return f"{words}. {OLD_VERSION}" if code == UNSUPPORTED_VERSION else words


def _after_refusal(code: int, version: Version) -> str:
    known = version < Version.V5 and code in OLD_REFUSALS
    return SENTENCES[Status.REFUSED if known else Status.PROTOCOL]


def _not_connected(failure: NotConnected) -> Outcome:
    """Return the outcome of a failure below MQTT, by the error that caused it."""
    cause = failure.__cause__
    if isinstance(cause, ConnectionLost):
        return _plain(Status.LOST)
    # By name: ssl takes long to load, and only TLS loads it. Some of its errors are a ValueError.
    if type(cause).__module__ == "ssl":
        return _plain(Status.TLS)
    if isinstance(cause, (socket.gaierror, ValueError)):
        return _unreachable(Status.LOOKUP)
    if isinstance(cause, TimeoutError):
        return Outcome(Status.USAGE, "Error: Connection timed out")
    if isinstance(cause, OSError) and cause.errno:
        return Outcome(Status.USAGE, f"Error: {os.strerror(cause.errno)}")
    # The error of a proxy has a text and no number.
    from ....live.net.handshake import ProxyFailed

    if isinstance(cause, ProxyFailed):
        inner = cause.__cause__
        if isinstance(inner, OSError) and inner.errno and not isinstance(inner, socket.gaierror):
            return Outcome(Status.USAGE, f"Error: {os.strerror(inner.errno)}")
        return _unreachable(Status.LOOKUP if isinstance(inner, socket.gaierror) else Status.PROXY)
    return _plain(Status.PROTOCOL)


def _unreachable(status: Status) -> Outcome:
    return Outcome(Status.USAGE, f"Unable to connect ({SENTENCES[status]}).")
