"""The embedded broker keeps all that the cases put to the test."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from mqttpub.lab.broker.limits import LIMITS, Limits
from mqttpub.lab.broker.server import Broker
from mqttpub.lab.conform.cases import cases, without_case
from mqttpub.lab.conform.playing import PeerAccess
from mqttpub.lab.conform.run import run, speaks
from mqttpub.lab.conform.verdicts import StatementVerdict, verdicts
from mqttpub.spec.statements import statement
from mqttpub.spec.versions import Version

UNTRIED = {
    "MQTT5-3.1.3-8": "it takes any Client Identifier",
    "MQTT5-3.3.4/receive-maximum": "its Receive Maximum is not the 20 of the case",
}
"""Why statements that have a case are not tried with it; of those without a case, `without.toml` says it."""
SHOWN = {"MQTT5-3.14.2-3"}
"""Statements without a case that it shows all the same: it sends a DISCONNECT with a Reason String."""
LITTLE = Limits(
    qos=1, retain=False, wildcards=False, identifiers=False, shared=False, keep_alive=20, receive=1, aliases=0
)


@pytest.fixture(scope="module")
def found() -> dict[Version, list[StatementVerdict]]:
    """Return the verdicts of each version; they are played beside one another, as some cases wait for seconds."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(Version, pool.map(_verdicts, Version), strict=True))


def _verdicts(version: Version, limits: Limits = LIMITS) -> list[StatementVerdict]:
    numbers = count()
    with Broker(limits=limits) as broker:
        place = "127.0.0.1", broker.port
        access = PeerAccess(
            lambda _: (socket.create_connection(place, 5.0), None), lambda: {"client_id": f"c{next(numbers)}"}, 5.0
        )
        assert not speaks(version, access)
        played = [case for case in cases(version) if not case.is_websocket]
        found = list(verdicts(version, run(played, access, 16)))
        # Neither a session is left, once the broker has seen the last connection end, nor a retained message.
        until_s = time.monotonic() + 5
        while broker.hub.sessions and time.monotonic() < until_s:
            time.sleep(0.01)
        assert not broker.hub.sessions
        assert not broker.hub.retained.matching("#", broker.hub.clock())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("version", list(Version), ids=str)
def test_the_embedded_broker_keeps_all(version: Version, found: dict[Version, list[StatementVerdict]]) -> None:
    assert broken(found[version]) == []
    untried = without_case(version).keys() | {id for id in UNTRIED if statement(id).version == version.label}
    assert {each.statement.id for each in found[version] if each.verdict != "kept"} == untried - SHOWN


@pytest.mark.slow
def test_what_a_broker_says_it_does_not_offer_is_not_broken() -> None:
    found = _verdicts(Version.V5, LITTLE)
    assert broken(found) == []
    whys = {each.why for each in found}
    assert {"Retain Available is 0 in CONNACK", "Maximum QoS is 1 in CONNACK"} <= whys


def broken(found: list[StatementVerdict]) -> list[tuple[str, str]]:
    """Return the statements that are broken, with the reasons."""
    return [(each.statement.id, each.why) for each in found if each.verdict == "broken"]
