"""Bytes of a peer that are not a packet."""

import pytest

from mqttpub.lint.gaps import gap_finding
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Endpoints, GapSeen

ENDLESS = "Remaining Length does not end at its fourth byte; nothing after it is read"
ONE = "closed 1 byte into a packet"
TEXT = "WebSocket text frame, but MQTT travels in binary frames only"
LONG = "3 bytes are in the transcript where a packet has 2"
CUT = "the connection was closed 7 bytes into a PUBLISH of 12 bytes"


@pytest.mark.parametrize(
    ("data", "length", "message", "expected"),
    [
        ("30ffffffff01", None, ENDLESS, ("MQTT5-1.5.5/length", "publish.remaining_length", (1, 5), ENDLESS[:48])),
        ("300a0003616263", 7, CUT, ("MQTT5-2.1.4/short", "publish.remaining_length", (1, 2), CUT)),
        ("", None, ENDLESS, ("MQTT5-1.5.5/length", "nothing", (0, 0), ENDLESS)),
        ("30", 1, ONE, ("MQTT5-2.1.4/short", "publish", (0, 1), ONE)),
        ("30ff", 2, CUT, ("MQTT5-2.1.4/short", "publish", (0, 1), CUT)),
        ("", 7, CUT, ("MQTT5-2.1.4/short", "nothing", (0, 0), CUT)),
        ("c00000", 3, LONG, ("MQTT5-2.1.4/trailing", "pingreq.remaining_length", (1, 2), LONG)),
        ("81ffffffff", None, TEXT, ("MQTT5-6.0.0-1", "subscribe", (0, 1), TEXT)),
        ("83ffffffff", None, "no frame", ("MQTT5-6.0.0/frames", "subscribe", (0, 1), "no frame")),
    ],
)
def test_the_finding_points_at_the_bytes_at_fault(
    data: str, length: int | None, message: str, expected: tuple[object, ...]
) -> None:
    gap = GapSeen(Endpoints(1, "", ""), None, 1, 0, Direction.CLIENT, length, bytes.fromhex(data), message, True)
    found = gap_finding(gap, Version.V5)
    assert (found.statement, found.path, tuple(found.span), found.message) == expected
    assert found.severity == "error"
