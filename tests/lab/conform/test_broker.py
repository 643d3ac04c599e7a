"""The embedded broker keeps all that the cases put to the test."""

import socket
from collections import Counter
from itertools import count

import pytest

from mqttpub.lab.broker.server import Broker
from mqttpub.lab.conform.cases import cases
from mqttpub.lab.conform.playing import PeerAccess
from mqttpub.lab.conform.run import run, speaks
from mqttpub.lab.conform.verdicts import verdicts
from mqttpub.spec.versions import Version

KEPT = {Version.V31: 80, Version.V311: 104, Version.V5: 181}
"""How many statements it is put to the test on and keeps, of each version."""


@pytest.mark.slow
@pytest.mark.parametrize("version", list(Version), ids=str)
def test_the_embedded_broker_keeps_all(version: Version) -> None:
    numbers = count()
    with Broker() as broker:
        place = "127.0.0.1", broker.port
        access = PeerAccess(
            lambda _: (socket.create_connection(place, 5.0), None), lambda: {"client_id": f"c{next(numbers)}"}, 5.0
        )
        assert not speaks(version, access)
        played = [case for case in cases(version) if not case.is_websocket]
        found = list(verdicts(version, run(played, access, 16)))
        # Nothing is left behind: neither a session nor a retained message.
        assert not broker.hub.sessions
        assert not broker.hub.retained.matching("#", broker.hub.clock())
    assert [(each.statement.id, each.why) for each in found if each.verdict == "broken"] == []
    assert Counter(each.verdict for each in found)["kept"] == KEPT[version]
