"""Bytes that a peer sent and that are no packet."""

import pytest

from mqttpub.conversation.events import Ends, GapSeen
from mqttpub.lint.gaps import wrong
from mqttpub.spec.terms import Direction, Version

ENDLESS = "Remaining Length does not end at its fourth byte; nothing behind it is read"
CUT = "the connection was closed 7 bytes into a PUBLISH of 12 bytes"


@pytest.mark.parametrize(
    ("data", "length", "message", "expected"),
    [
        ("30ffffffff01", None, ENDLESS, ("MQTT5-1.5.5/length", "publish.remaining_length", (1, 5), ENDLESS[:48])),
        ("300a0003616263", 7, CUT, ("MQTT5-2.1.4/short", "publish.remaining_length", (1, 2), CUT)),
        ("30", 1, "closed 1 byte into a packet", ("", "publish", (0, 1), "closed 1 byte into a packet")),
        ("81ffffffff", None, "no binary frame", ("", "subscribe", (0, 1), "no binary frame")),
        ("", None, "no HTTP", ("", "nothing", (0, 0), "no HTTP")),
    ],
)
def test_the_finding_stands_at_what_is_to_blame(
    data: str, length: int | None, message: str, expected: tuple[object, ...]
) -> None:
    gap = GapSeen(Ends(1, "", ""), None, 1, 0, Direction.CLIENT, length, bytes.fromhex(data), message, True)
    found = wrong(gap, Version.V5)
    assert (found.statement, found.path, tuple(found.span), found.message) == expected
    assert found.severity == "error"
