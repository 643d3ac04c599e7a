"""A probe finds out the limits that a real broker was configured with, and says where it does not keep its word."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mqttpub.live.net.target import Target
from mqttpub.live.probe.probes import probe
from mqttpub.live.probe.result import Agreement, ProbeResult
from mqttpub.live.probe.trial import Prober, highest
from mqttpub.spec.packets import Connect, Will
from mqttpub.spec.versions import Version
from tests.build.brokers import mosquitto, plain

LIMITED = (
    "max_packet_size 4000", "max_qos 1", "retain_available false", "max_inflight_messages 5", "max_topic_alias 3",
    "max_keepalive 100", "persistent_client_expiration 1h",
)  # fmt: skip


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run a mosquitto with a limit of every kind that it can be given."""

    def settings(port: int) -> list[str]:
        return [LIMITED[0], *plain(port), *LIMITED[1:]]

    with mosquitto(tmp_path_factory.mktemp("limited"), settings) as (port,):
        yield port


def results(port: int, version: Version = Version.V5, connect: Connect | None = None) -> dict[str, ProbeResult]:
    target = Target("127.0.0.1", port, version, connect or Connect(client_id="mqttpub-probing"))
    return {each.key: each for each in probe(Prober(target, timeout_s=5))}


@pytest.mark.broker
@pytest.mark.parametrize("version", Version)
def test_a_broker_without_limits(version: Version, mosquitto: int) -> None:
    found = results(mosquitto, version)
    assert [key for key, each in found.items() if each.agreement is Agreement.ALLOWS_LESS] == []
    assert found["versions"].seen == ["3.1", "3.1.1", "5.0"]
    assert (found["maximum_qos"].seen, found["granted_qos"].seen) == (2, 2)
    assert (found["topic_bytes"].seen, found["topic_levels"].seen) == (65535, 201)
    assert found["maximum_packet_size"].seen == 1 << 20
    assert found["maximum_packet_size"].at_least
    kinds = ("retain_available", "wildcard_subscription_available", "shared_subscription_available")
    assert [found[key].seen for key in kinds] == [True] * 3
    assert found["session_kept"].seen is (None if version is Version.V31 else True)
    if version is Version.V5:
        assert (found["topic_alias_maximum"].seen, found["receive_maximum"].seen) == (10, 20)
        assert found["subscription_identifier_available"].seen
        assert found["session_expiry_interval"].seen == 0xFFFFFFFF


@pytest.mark.broker
def test_the_limits_of_a_configuration_are_found(limited: int) -> None:
    found = results(limited)
    known = {
        "maximum_qos": 1, "retain_available": False, "topic_alias_maximum": 3,
    }  # fmt: skip
    assert {key: (found[key].declared, found[key].seen) for key in known} == {
        key: (value, value) for key, value in known.items()
    }
    assert {found[key].agreement for key in known} == {Agreement.AGREES}
    # mosquitto compares the Remaining Length, which leaves out the fixed header.
    size = found["maximum_packet_size"]
    assert (size.declared, size.seen, size.agreement) == (4000, 4001, Agreement.TOLERATES_MORE)
    assert "receive_maximum" not in found


@pytest.mark.broker
def test_a_broker_that_declares_nothing_is_tried_all_the_same(limited: int) -> None:
    found = results(limited, Version.V311)
    assert (found["maximum_qos"].seen, found["maximum_packet_size"].declared) == (1, None)
    assert found["maximum_qos"].agreement is Agreement.ALLOWS_LESS


@pytest.mark.slow
@pytest.mark.broker
def test_a_topic_that_may_not_be_used_shows_as_less(tmp_path: Path) -> None:
    (tmp_path / "acl").write_text("topic deny mqttpub/#\n")
    with mosquitto(tmp_path, lambda port: [f"acl_file {tmp_path}/acl", *plain(port)]) as (port,):
        found = results(port)
    assert found["maximum_qos"].seen == 0
    assert found["maximum_qos"].said == "PUBACK 0x87 Not authorized"
    assert found["wildcard_subscription_available"].agreement is Agreement.ALLOWS_LESS


def test_no_will_and_no_old_session_come_with_a_trial() -> None:
    connect = Connect(client_id="a", clean_start=False, will_qos=1, will_retain=True, will=Will(topic="a", payload=b""))
    plain_connect = Prober(Target(connect=connect)).target.connect
    assert (plain_connect.will, plain_connect.will_qos, plain_connect.will_retain) == (None, 0, False)
    assert plain_connect.clean_start


@pytest.mark.parametrize("limit", [1, 2, 7, 99, 100])
def test_the_highest_number_that_works(limit: int) -> None:
    tried: list[int] = []

    def works(number: int) -> bool:
        tried.append(number)
        return number <= limit

    assert highest(1, 100, works) == limit
    assert len(tried) <= 10


def test_nothing_works() -> None:
    assert highest(1, 100, lambda number: False) is None
