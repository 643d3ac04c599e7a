"""The limits that a broker was configured with are found, and where it does not keep its word."""

import socket
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from mqttpub.lab.broker.limits import Limits
from mqttpub.lab.broker.server import Broker
from mqttpub.lab.conform.limit_search import run_limits
from mqttpub.lab.conform.limits import Agreement, FoundLimit, limits
from mqttpub.lab.conform.playing import BROKEN, CaseResult, PeerAccess
from mqttpub.lab.faults.faults import Faults
from mqttpub.lab.faults.rules import fault_rule
from mqttpub.live.failures import NotConnected
from mqttpub.live.tap import ByteObserver
from mqttpub.spec.versions import Version
from tests.build.brokers import free_port, mosquitto, plain

LIMITED = (
    "max_packet_size 4000", "max_qos 1", "retain_available false", "max_inflight_messages 5", "max_topic_alias 3",
    "max_keepalive 100", "persistent_client_expiration 1h",
)  # fmt: skip
JOBS = 16


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a mosquitto with a limit of every kind that it can be given."""

    def settings(port: int) -> list[str]:
        return [LIMITED[0], *plain(port), *LIMITED[1:]]

    with mosquitto(tmp_path_factory.mktemp("limited"), settings) as (port,):
        yield port


def access(port: int, timeout_s: float) -> PeerAccess:
    numbers = count()

    def dial(name: str) -> tuple[socket.socket, ByteObserver | None]:
        try:
            return socket.create_connection(("127.0.0.1", port), 5.0), None
        except OSError as error:
            raise NotConnected(str(error)) from error

    return PeerAccess(dial, lambda: {"client_id": f"limits{next(numbers)}"}, timeout_s)


def ended(port: int, version: Version = Version.V5, *names: str, timeout_s: float = 5.0) -> dict[str, CaseResult]:
    """Return the results of some limits, of all without a name."""
    wanted = [limit for limit in limits(version) if limit.name in names or not names]
    return {each.case.name: each for each in run_limits(version, wanted, access(port, timeout_s), JOBS, 1 << 20)}


def results(port: int, version: Version = Version.V5, *names: str) -> dict[str, FoundLimit]:
    return {name: each.found for name, each in ended(port, version, *names).items() if each.found}


@pytest.mark.broker
@pytest.mark.slow
@pytest.mark.parametrize("version", Version, ids=str)
def test_a_broker_without_limits(version: Version, mosquitto: int) -> None:
    found = results(mosquitto, version)
    assert [key for key, each in found.items() if each.agreement is Agreement.ALLOWS_LESS] == []
    assert (found["maximum_qos"].seen, found["granted_qos"].seen) == (2, 2)
    assert (found["topic_bytes"].seen, found["topic_levels"].seen) == (65535, 201)
    assert (found["client_id_bytes"].seen, len(found["client_id_characters"].seen)) == (65535, 9)
    assert (found["maximum_packet_size"].seen, found["maximum_packet_size"].at_least) == (1 << 20, True)
    assert (found["subscriptions"].seen, found["subscriptions"].at_least) == (100, True)
    kinds = ("retain_available", "wildcard_subscription_available", "shared_subscription_available", "session_kept")
    assert [found[key].seen for key in kinds] == [True] * 4
    if version is Version.V5:
        assert (found["topic_alias_maximum"].seen, found["receive_maximum"].seen) == (10, 20)
        assert found["subscription_identifier_available"].seen
        assert found["session_expiry_interval"].seen == 0xFFFFFFFF


@pytest.mark.broker
@pytest.mark.slow
def test_the_limits_of_a_configuration_are_found(limited: int) -> None:
    every = ended(limited)
    found = {name: each.found for name, each in every.items() if each.found}
    known = {"maximum_qos": 1, "retain_available": False, "topic_alias_maximum": 3, "server_keep_alive": 100}
    assert {key: (found[key].declared, found[key].seen) for key in known} == {
        key: (value, value) for key, value in known.items()
    }
    assert {found[key].agreement for key in known} == {Agreement.AGREES}
    assert every["maximum_qos"].why == "DISCONNECT 0x9b QoS not supported"
    # mosquitto counts the Remaining Length and one byte, which is two bytes less than the packet.
    size = found["maximum_packet_size"]
    assert (size.declared, size.seen, size.agreement) == (4000, 4001, Agreement.TOLERATES_MORE)
    assert every["receive_maximum"].why == "the highest QoS of a message is 1"
    # So 3999 bytes are left, less the length of the topic, the Packet Identifier, no properties, and the payload.
    topic = found["topic_bytes"].seen, every["topic_bytes"].why
    assert topic == (3999 - 2 - 2 - 1 - 1, "DISCONNECT 0x95 Packet too large")


@pytest.mark.broker
def test_a_broker_that_declares_nothing_is_tried_all_the_same(limited: int) -> None:
    found = results(limited, Version.V311, "maximum_qos", "maximum_packet_size", "granted_qos")
    assert (found["maximum_qos"].seen, found["granted_qos"].seen) == (1, 1)
    assert found["maximum_qos"].agreement is Agreement.ALLOWS_LESS
    assert (found["maximum_packet_size"].declared, found["maximum_packet_size"].seen) == (None, 4002)


@pytest.mark.slow
@pytest.mark.broker
def test_topics_that_may_not_be_used_show_as_less(tmp_path: Path) -> None:
    (tmp_path / "acl").write_text("topic deny #\n")
    with mosquitto(tmp_path, lambda port: [f"acl_file {tmp_path}/acl", *plain(port)]) as (port,):
        found = ended(port, Version.V5, "maximum_qos", "wildcard_subscription_available")
    limit = found["maximum_qos"].found
    assert limit
    assert (limit.seen, found["maximum_qos"].why) == (0, "PUBACK 0x87 Not authorized")
    assert found["wildcard_subscription_available"].verdict == BROKEN


def test_the_limits_of_the_embedded_broker_are_found_and_nothing_is_left() -> None:
    # The Remaining Length of a packet of 16,386 bytes still has two bytes; it is easily taken for one with three.
    given = Limits(
        packet=16_385, qos=1, retain=False, wildcards=False, identifiers=False, shared=False, keep_alive=20, aliases=0,
        expiry=90, levels=7, subscriptions=40,
    )  # fmt: skip
    known = {
        "maximum_packet_size": 16_385, "maximum_qos": 1, "retain_available": False, "server_keep_alive": 20,
        "wildcard_subscription_available": False, "subscription_identifier_available": False,
        "shared_subscription_available": False, "topic_alias_maximum": 0, "session_expiry_interval": 90,
    }  # fmt: skip
    with Broker(limits=given) as broker:
        found = results(broker.port)
        until_s = time.monotonic() + 5
        while broker.hub.sessions and time.monotonic() < until_s:
            time.sleep(0.01)
        assert not broker.hub.sessions
    assert {key: (found[key].declared, found[key].seen) for key in known} == {
        key: (value, value) for key, value in known.items()
    }
    assert (found["topic_levels"].seen, found["subscriptions"].seen, found["granted_qos"].seen) == (7, 40, 1)


def test_no_retained_message_is_left_and_receive_maximum_is_found() -> None:
    with Broker(limits=Limits(receive=7)) as broker:
        found = results(broker.port, Version.V5, "retain_available", "receive_maximum")
        assert not broker.hub.retained.matching("#", broker.hub.clock())
    assert (found["receive_maximum"].declared, found["receive_maximum"].seen) == (7, 7)
    assert found["retain_available"].seen


@pytest.mark.parametrize(
    ("name", "rule", "declared", "seen"),
    [
        ("receive_maximum", "type=CONNACK set receive_maximum=200", 200, 100),
        ("topic_alias_maximum", "type=CONNACK set topic_alias_maximum=20", 20, 10),
        ("maximum_packet_size", "type=CONNACK set maximum_packet_size=5000", 5000, 4096),
        ("retain_available", "direction=server type=PUBLISH set retain=0", True, False),
        ("shared_subscription_available", "direction=server type=PUBLISH drop", True, False),
        ("session_expiry_interval", "type=CONNACK set session_present=0", 0xFFFFFFFF, 0),
        ("client_id_bytes", "type=CONNACK set reason_code=0x85", 23, 0),
    ],
)
def test_a_broker_that_allows_less_than_it_must_is_caught(name: str, rule: str, declared: int, seen: int) -> None:
    with Broker(limits=Limits(packet=4096), faults=Faults([fault_rule(rule)], 1, lambda report: None)) as broker:
        (result,) = ended(broker.port, Version.V5, name, timeout_s=1.0).values()
    assert result.found
    assert (result.found.declared, result.found.seen, result.verdict) == (declared, seen, BROKEN)


def test_a_broker_that_takes_what_it_declares_not_to_is_caught() -> None:
    rule = "type=CONNACK set retain_available=0 topic_alias_maximum=4"
    with Broker(faults=Faults([fault_rule(rule)], 1, lambda report: None)) as broker:
        by_name = results(broker.port, Version.V5, "retain_available", "topic_alias_maximum")
    found = {name: by_name[name] for name in sorted(by_name)}
    assert {each.agreement for each in found.values()} == {Agreement.TOLERATES_MORE}
    assert [(each.declared, each.seen, each.at_least) for each in found.values()] == [
        (False, True, False),
        (4, 5, True),
    ]


def test_a_broker_that_is_gone_shows_as_not_tried() -> None:
    found = ended(free_port(), Version.V5, "maximum_qos", "topic_bytes")
    assert {each.why for each in found.values()} == {"the peer is gone"}
