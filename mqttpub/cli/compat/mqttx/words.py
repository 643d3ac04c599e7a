"""What MQTTX says of a connection and of its end, on standard error."""

import errno
import socket
import sys

from ....live.failures import ConnectionLost, ConnectionRefused, Failure, NoConnack, NotConnected
from ....spec.reason_codes import Codes
from ....spec.versions import Version

OLD_REFUSALS = {
    1: "Unacceptable protocol version", 2: "Identifier rejected", 3: "Server unavailable",
    4: "Bad username or password", 5: "Not authorized",
}  # fmt: skip
CLOSED = "Connection closed"
DONE, FAILED = 0, 1
"""Exit statuses: MQTTX knows no others, and ends with 0 where there was no connection."""


class Ended(Exception):
    """How a run that failed ends: a line for standard error, and the exit status."""

    def __init__(self, line: str, status: int = FAILED) -> None:
        super().__init__(line)
        self.status = status


def waiting(text: str) -> None:
    """Say what is being done; on a terminal MQTTX replaces the line by what came of it."""
    if not sys.stderr.isatty():
        _say("-", text)


def done(text: str) -> None:
    """Say what was done."""
    _say("✔", text)


def failed(text: str) -> None:
    """Say what went wrong."""
    _say("✖", text)


def _say(mark: str, text: str) -> None:
    from ....common.escape import remark

    sys.stderr.write(f"{mark} {remark(text)}\n")
    sys.stderr.flush()


def ended(failure: Failure, version: Version, place: str) -> Ended:
    """Return how MQTTX reports a failure of the connection."""
    if isinstance(failure, ConnectionRefused):
        reason = (
            OLD_REFUSALS.get(failure.code, "unknown") if version < Version.V5
            else Codes("CONNACK").name(failure.code, version)
        )  # fmt: skip
        return Ended(f"Error: Connection refused: {reason}", DONE)
    if isinstance(failure, NotConnected) and not isinstance(failure, NoConnack):
        return Ended(f"Error: {_cause(failure, place)}", DONE)
    if isinstance(failure, ConnectionLost):
        return Ended(CLOSED)
    return Ended(f"Error: {failure}")


def _cause(failure: NotConnected, place: str) -> str:
    """Return the words of Node.js for a failed connection, ours where it has none."""
    cause = failure.__cause__
    if isinstance(cause, socket.gaierror):
        return f"getaddrinfo ENOTFOUND {place.rpartition(':')[0]}"
    name = errno.errorcode.get(getattr(cause, "errno", None) or 0, "")
    return f"connect {name} {place}" if name else str(failure)
