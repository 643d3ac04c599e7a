"""EventJudge that the tests of findings show."""

from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.tree import Finding, finding
from mqttpub.lint.packet.check import lint
from mqttpub.reading.judged import JudgedEvent
from mqttpub.reading.located import Location
from mqttpub.spec.versions import Direction, Version
from mqttpub.traffic.events import Closed, Endpoints, PacketSeen
from mqttpub.wire.cursor import Span
from tests.strategies import encoded, versions

ENDS = Endpoints(3, "10.0.0.1:50000", "10.0.0.2:1883")
CAPTURE = Location("a.pcap")
LOCATIONS = [Location(), Location("a b.pcap", 100), Location("t.hex", 0, 3), Location("/x/r.bin", 7, 0, 4)]
TIME = 1_700_000_000_123_456_000


def case(
    data: bytes | str, *, version: Version = Version.V5, direction: Direction | None = Direction.CLIENT,
    record: int = 17, offset: int = 0, time: int | None = TIME, guessed: bool = False, number: int = 4,
    client: str = "", topic: str = "", location: Location = CAPTURE,
) -> JudgedEvent:  # fmt: skip
    """Return the case of a packet with what is wrong with it by itself."""
    octets = bytes.fromhex(data) if isinstance(data, str) else data
    decoded = decode(octets, version, direction=direction, offset=offset)
    event = PacketSeen(ENDS, time, record, octets, offset, direction, version, guessed)
    return JudgedEvent(event, lint(decoded, direction), version, decoded, number, client, topic, location)


def ending(*findings: Finding) -> JudgedEvent:
    """Return the case of a connection at its end."""
    event = Closed(ENDS, TIME, 18, Direction.SERVER, "FIN")
    return JudgedEvent(event, findings or (left(),), Version.V5, client="c\x1b[0m", location=Location("a.pcap", line=9))


def left() -> Finding:
    """Return a finding for something that was left undone."""
    return finding("MQTT5-4.3.2-4", "connection", Span(0, 0), "no PUBACK for Packet Identifier 5 came")


DUP = "38050001746869"
HOSTILE = st.text(max_size=12)
WRONG = st.tuples(versions, st.sampled_from([*Direction, None])).flatmap(
    lambda given: st.builds(
        case, st.one_of(encoded(given[0], False), st.binary(max_size=60)), version=st.just(given[0]),
        direction=st.just(given[1]), client=HOSTILE, topic=HOSTILE, guessed=st.booleans(),
        location=st.sampled_from(LOCATIONS),
    )
)  # fmt: skip
"""Packets in which anything may be wrong."""
