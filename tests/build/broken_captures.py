"""Ten captures in which something is wrong, each with its cause: what people send when they ask for help.

    python -m tests.build.broken_captures FOLDER

writes them as case-01.pcap to case-10.pcap.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from mqttpub.common.times import SECOND_NS
from mqttpub.spec.versions import Version
from tests.build.frames import Wire
from tests.build.story import Talk, capture

START_NS = 1_700_000_000 * SECOND_NS
STEP_NS = SECOND_NS // 100
OPENING = "> connect id=pump-3 ka=60; < connack"
MESSAGE = "> publish t=plant/4/temperature p=${value}"
GOOD = f"{OPENING}; {MESSAGE} q1 i1; < puback i1"


class Case(NamedTuple):
    """A capture and what is to be found in it."""

    cause: str
    """In words, for people."""
    statement: str
    """Id of the broken statement."""
    word: str
    """What the message about it says."""
    said: str
    """A line of a script."""
    version: Version = Version.V5


CASES = (
    Case("DUP is set on a QoS 0 message", "MQTT5-3.3.1-2", "DUP is 1", f"{GOOD}; {MESSAGE} d1; {MESSAGE}"),
    Case("the client uses Topic Alias 11, the server allows 10", "MQTT5-3.2.2-17", "11",
         f"{OPENING} topic_alias_maximum=10; {MESSAGE} topic_alias=10; "
         "> publish t=plant/4/pressure topic_alias=11 p=${value}; < disconnect c=94"),
    Case("a Topic Alias is used that was never set", "MQTT5-3.3.4/alias-unset", "Alias 2",
         f"{OPENING} topic_alias_maximum=10; {MESSAGE} topic_alias=1; > publish t= topic_alias=2; < disconnect c=82"),
    Case("three messages at once, the server takes two", "MQTT5-3.3.4-7", "Receive Maximum",
         f"{OPENING} receive_maximum=2; {MESSAGE} q1 i1; {MESSAGE} q1 i2; {MESSAGE} q1 i3; < disconnect c=93"),
    Case("the Property Length of SUBSCRIBE is wrong", "MQTT5-2.2.2.2/unknown", "ropert",
         f"{GOOD}; > raw 82 0d 00 09 03 00 07 {b'plant/#'.hex()} 01; < disconnect c=81"),
    Case("the client was silent for 40 s, with a Keep Alive of 20 s", "MQTT5-3.1.2-20", "Keep Alive",
         f"{GOOD}; +40; {MESSAGE} q1 i2; < puback i2".replace("ka=60", "ka=20")),
    Case("a Remaining Length of more bytes than it needs", "MQTT5-1.5.5-1", "byte", f"{GOOD}; {MESSAGE} overlong"),
    Case("a wildcard in a Topic Name", "MQTT311-3.3.2-2", "#",
         f"{OPENING}; {MESSAGE}; > publish t=plant/# p=${{value}}", Version.V311),
    Case("the server answers another Packet Identifier than it was asked", "MQTT5-2.2.1-5", "78",
         f"{GOOD}; {MESSAGE} q1 i77; < puback i78; +5; {MESSAGE} q1 i77 d1; < puback i78"),
    Case("PUBREL is sent before PUBREC came", "MQTT5-4.3.3-3", "PUBREL",
         f"{OPENING}; > subscribe i9 f=plant/#:q1; < suback i9 c=01; "
         f"{MESSAGE} q2 i5; > pubrel i5; < pubrec i5; < pubcomp i5"),
)  # fmt: skip


def written(line: str, version: Version = Version.V5) -> bytes:
    """Return what a line of a script says as a pcap file, with its handshake."""
    talk = Talk(Wire(), version)
    talk.dial(START_NS, 0)
    talk.say(START_NS + STEP_NS, line, STEP_NS, value='{"t":21.5}')
    return capture([talk])


def main() -> None:
    """Write them."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for number, case in enumerate(CASES, 1):
        (folder / f"case-{number:02}.pcap").write_bytes(written(case.said, case.version))


if __name__ == "__main__":
    main()
