"""What results say of statements."""

import socket

import pytest

from mqttpub.lab.conform.cases import cases
from mqttpub.lab.conform.playing import PeerAccess
from mqttpub.lab.conform.run import run
from mqttpub.lab.conform.verdicts import StatementVerdict, verdicts
from mqttpub.live.failures import NotConnected
from mqttpub.script.reader import read_script
from mqttpub.spec.versions import Direction, Version
from tests.lab.conform import client_proving
from tests.lab.conform.proving import MutantRow, against, changed, named


def of_change(version: Version, case: str, old: str, new: str) -> dict[str, StatementVerdict]:
    """Return the verdicts on statements that a change to the lines of a peer breaks, by label."""
    row = MutantRow(("",), version, case, old, new)
    found = verdicts(version, [against(named(version, case), changed(named(version, case), row))])
    return {each.statement.label: each for each in found if each.verdict == "broken"}


@pytest.mark.parametrize("version", [Version.V5, Version.V311], ids=str)
def test_what_the_text_leaves_open_is_broken_but_no_violation(version: Version) -> None:
    # A PUBACK after a message of QoS 0 only: the text says nothing of acknowledgements that nothing awaits.
    found = of_change(version, "qos0", "[p] < none 0.2s", "[p] < puback i9")
    assert {label: each.is_violation for label, each in found.items()} == {"3.3.4-1": False}


def test_a_step_that_fails_violates_just_what_its_line_decides() -> None:
    found = of_change(Version.V5, "unchanged", "p=2 response_topic=${run}/r; [s]", "p=2 response_topic=x; [s]")
    assert {label: each.is_violation for label, each in found.items()} == {"3.3.2-15": True}


def test_what_only_a_server_must_do_is_no_violation_of_a_client() -> None:
    # 4.13.1: a client that detects a Protocol Error should close the connection.
    case = client_proving.named(Version.V5, "alias-too-high")
    steps = list(read_script(["> connect; < connack; < publish; > pingreq; +1.5"]))
    found = verdicts(Version.V5, [client_proving.against(case, steps)], Direction.CLIENT)
    broken = {each.statement.label: each.is_violation for each in found if each.verdict == "broken"}
    assert broken == {"3.3.4/alias-range": False}


def test_a_recommendation_that_is_broken_is_no_violation() -> None:
    found = of_change(Version.V5, "ping", "< connack c=00", "< connack c=00 server_reference=x")
    assert {label: each.is_violation for label, each in found.items()} == {"4.11/server-reference": False}


def test_a_peer_that_is_gone_before_it_is_put_to_the_test_broke_the_case() -> None:
    sockets: list[socket.socket] = []

    def opened(_: str) -> tuple[socket.socket, None]:
        if sockets:
            raise NotConnected("nobody listens")
        ours, peers = socket.socketpair()
        sockets.append(ours)
        peers.close()
        return ours, None

    chosen = [case for case in cases(Version.V5) if case.name in ("qos0", "ping")]
    results = list(run(chosen, PeerAccess(opened, dict, 1.0), jobs=1))
    found = {each.statement.id: each for each in verdicts(Version.V5, results)}
    first, second = results
    assert {found[id].verdict for id in first.case.statements} == {"broken"}
    assert first.why == "the peer is gone after this case"
    assert second.why == f"the peer is gone after the case {first.case.name}"
