"""TLS of mosquitto_pub and mosquitto_sub: each listener takes or refuses ours as it does the client itself."""

import shlex

import pytest

from tests.build.brokers import Broker
from tests.cli.compat.both import Run, ours, run, theirs

LINES = {
    "trusted": ("tls", "--cafile {ca}", 0),
    "a CA that did not sign": ("tls", "--cafile {stranger}", 8),
    "no verification of another CA": ("tls", "--cafile {stranger} --insecure", 8),
    "another name": ("elsewhere", "--cafile {ca}", 8),
    "another name, not verified": ("elsewhere", "--cafile {ca} --insecure", 0),
    "expired": ("expired", "--cafile {ca}", 8),
    "expired, name not verified": ("expired", "--cafile {ca} --insecure", 8),
    "with a certificate of the client": ("client", "--cafile {ca} --cert {cert} --key {key}", 0),
    "TLS 1.2": ("tls", "--cafile {ca} --tls-version tlsv1.2", 0),
}  # fmt: skip
"""A listener of the broker, the options, and the exit status."""
REFUSED = Run(8, b"", b"Error: A TLS error occurred.\n")
REFUSED_EARLIER = Run(1, b"", b"Unable to connect (A TLS error occurred.).\n")
"""How the client ends, of the same cause, if the handshake fails before it waits for the peer the first time."""


def words_of(brokers: Broker, case: str) -> list[str]:
    """Return the words of a case, but for the message."""
    listener, line, _ = LINES[case]
    cert, key = brokers.client.cert, brokers.client.key
    options = line.format(ca=brokers.ca.cert, stranger=brokers.stranger.cert, cert=cert, key=key)
    return ["-h", "localhost", "-p", str(brokers.ports[listener]), *shlex.split(options)]


@pytest.mark.parametrize("case", LINES)
def test_publishing(case: str, brokers: Broker) -> None:
    """The exit status and the sentence are those of the client."""
    words = [*words_of(brokers, case), "-t", "compat/tls", "-m", "x", "-q", "1"]
    mine = run(ours("mosquitto_pub"), words)
    assert mine == (REFUSED if LINES[case][2] else Run(0, b"", b""))
    assert run(theirs("mosquitto_pub"), words) in (mine, REFUSED_EARLIER if LINES[case][2] else mine)


@pytest.mark.parametrize("case", LINES)
def test_receiving(case: str, brokers: Broker) -> None:
    """A retained message arrives over each connection that the client would make, and over no other."""
    plain = ["-p", str(brokers.ports["tcp"]), "-t", "compat/tls/kept"]
    run(theirs("mosquitto_pub"), [*plain, "-m", "kept", "-r", "-q", "1"]).checked()
    words = [*words_of(brokers, case), "-t", "compat/tls/kept", "-C", "1"]
    mine = run(ours("mosquitto_sub"), words)
    assert mine == (REFUSED if LINES[case][2] else Run(0, b"kept\n", b""))
    assert run(theirs("mosquitto_sub"), words) in (mine, REFUSED_EARLIER if LINES[case][2] else mine)


def test_a_client_certificate_that_is_missing(brokers: Broker) -> None:
    """A listener that asks for a certificate closes the connection of a client without one."""
    words = ["-h", "localhost", "-p", str(brokers.ports["client"]), "--cafile", str(brokers.ca.cert), "-t", "a"]
    mine = run(ours("mosquitto_pub"), [*words, "-m", "x"])
    assert mine == Run(7, b"", b"Error: The connection was lost.\n")
    # The client meets either the end of the connection or a reset, by chance.
    assert run(theirs("mosquitto_pub"), [*words, "-m", "x"]).status in (7, 1)
