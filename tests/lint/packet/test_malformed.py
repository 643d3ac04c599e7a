"""Which findings make a packet malformed."""

import pytest

from mqttpub.codec.decode import decode
from mqttpub.lint.packet.malformed import malformed
from mqttpub.spec.versions import Version

V31, V311, V5 = Version.V31, Version.V311, Version.V5


@pytest.mark.parametrize(
    ("data", "version", "statement"),
    [
        ("3005 0002 5399 00", V5, "MQTT5-3.3.2-1"),  # a Topic Name that is not UTF-8
        ("3004 0002 5399", V311, "MQTT311-3.3.2-1"),
        ("3004 0002 5399", V31, "MQTT31-3.3/topic"),
        ("3004 0002 c080", V31, "MQTT31-2.5/java"),  # Java's U+0000, a warning
        ("3004 0002 6100", V311, "MQTT311-4.7.3-2"),  # U+0000
        ("300a 0001 61 06 08 0003 620063", V5, "MQTT5-4.7.3-2"),
        ("3607 0001 61 0001 00 62", V5, "MQTT5-3.3.1-4"),  # QoS 3
        ("6002 0001", V5, "MQTT5-3.6.1-1"),  # the flags of PUBREL
        ("c100", V311, "MQTT311-2.2.2-1"),
        ("3006 0001 61 02 2300", V5, "MQTT5-2.2.2.1/short"),  # a property that is cut short
        ("3007 0001 61 03 21000a", V5, "MQTT5-2.2.2.2/not-allowed"),  # Receive Maximum in PUBLISH
        ("4003 0001 00", V311, "MQTT311-3.4.1/length"),
        ("8206 0001 0001 61 04", V31, ""),  # reserved bits of the QoS byte, a warning there
        ("8206 0001 0001 61 43", V311, "MQTT311-3.8.3/options"),
        ("3204 0002 6161", V311, "MQTT311-2.3.1-1"),  # no Packet Identifier
        # Wrong, but read from end to end:
        ("3206 0002 6161 0000", V311, ""),  # Packet Identifier 0
        ("3004 0001 2b 00", V5, ""),  # a wildcard
        ("3804 0001 61 00", V5, ""),  # DUP at QoS 0
        ("308300 0001 61", V31, ""),  # a length with a needless byte, a warning before 5.0
        ("3004 0001 61 00", V5, ""),
    ],
)
def test_packets(data: str, version: Version, statement: str) -> None:
    found = malformed(decode(bytes.fromhex(data), version))
    assert (found.statement if found else "") == statement
