"""`-D PACKET NAME VALUE [VALUE]`: how many words it takes, and where they go."""

import pytest

from mqttpub.cli.commands.pub import command
from mqttpub.cli.flags.properties_argument import JOINT, joined, masked_setting
from tests.cli.requested import PLAIN, connect, disconnect, publish, refused

JOINED = {
    "-t a -m x": ["-t", "a", "-m", "x"],
    "-D PUBLISH content-type x -q 1": ["-D", "PUBLISH|content-type|x", "-q", "1"],
    "-D PUBLISH user-property k v -q 1": ["-D", "PUBLISH|user-property|k|v", "-q", "1"],
    "--property publish USER-PROPERTY -D -q -r": ["--property", "publish|USER-PROPERTY|-D|-q", "-r"],
    "-m -D -D PUBLISH content-type -D": ["-m", "-D", "-D", "PUBLISH|content-type|-D"],
    "-rdm -D": ["-rdm", "-D"],
    "-rd -D WILL content-type x": ["-rd", "-D", "WILL|content-type|x"],
    "-mx -D WILL content-type x": ["-mx", "-D", "WILL|content-type|x"],
    "--message=x -D WILL content-type x": ["--message=x", "-D", "WILL|content-type|x"],
    "-pf -D WILL content-type x": ["-pf", "-D", "WILL|content-type|x"],
    "-pf 1 -D WILL content-type x": ["-pf", "1", "-D", "WILL|content-type|x"],
    "-ta 1 -D WILL content-type x": ["-ta", "1", "-D", "WILL|content-type|x"],
    "-c -D WILL content-type x": ["-c", "-D", "WILL|content-type|x"],
    "-D PUBLISH nonsense x y": ["-D", "PUBLISH|nonsense|x", "y"],
    "-D PUBLISH": ["-D", "PUBLISH"],
    "-D": ["-D", ""],
    "-- -D PUBLISH x": ["--", "-D", "PUBLISH", "x"],
    "-t": ["-t"],
    "-D PUBLISH content-type x -t": ["-D", "PUBLISH|content-type|x", "-t"],
}


@pytest.mark.parametrize("line", JOINED)
def test_the_words_of_a_property_become_one(line: str) -> None:
    assert joined(line.split(), command) == [word.replace("|", JOINT) for word in JOINED[line]]


def test_properties_go_to_their_packets() -> None:
    assert publish(*["-D", "PUBLISH", "message-expiry-interval", "5"]) == "30 0a 00 01 61 05 02 00 00 00 05 78"
    assert publish("-D", "publish", "user-property", "a: b", "c=d").startswith("30 11 00 01 61 0c 26 00 04 61 3a 20 62")
    assert publish("-D", "PUBLISH", "correlation-data", "hex:00 ff") == "30 0a 00 01 61 05 09 00 02 00 ff 78"
    assert connect(*["-D", "CONNECT", "session-expiry-interval", "-1"]) == "02 00 3c 05 11 ff ff ff ff 00 02 6d 65"
    assert connect(*["-Wt", "w", "-D", "will", "WILL-DELAY-INTERVAL", "9"]).endswith("05 18 00 00 00 09 00 01 77 00 00")
    assert disconnect(*["-D", "DISCONNECT", "reason-string", "by"]) == "e0 07 00 05 1f 00 02 62 79"


def test_they_follow_those_of_other_flags_in_their_order() -> None:
    line = "-D PUBLISH user-property a b -up c=d -D PUBLISH user-property e f"
    assert [bytes.fromhex(part)[2:3] for part in publish(*line.split()).split("26 ")[1:]] == [b"c", b"a", b"e"]


WRONG = {
    "-D PUBLISH topic-alias auto": "--property: Topic Alias: 'auto' is not a number",
    "-D": "--property: expects PACKET NAME VALUE, but got 0 words",
    "-D PUBLISH content-type": "--property: expects PACKET NAME VALUE, but got 2 words",
    "-D PUBLISH nonsense 1": "--property: unknown property 'nonsense'",
    "-D SUBSCRIBE user-property a b": "--property: the first word is not one of PUBLISH, CONNECT, WILL, DISCONNECT",
    "-D PUBLISH user-property a": "--property: User Property expects a name and a value, but got 1",
    "-D PUBLISH topic-alias x": "--property: Topic Alias: 'x' is not a number",
    "-D PUBLISH topic-alias 65536": "--property: Topic Alias: 65536 is not in the range 1 to 65535",
    "-D PUBLISH receive-maximum 5": (
        "--property: Receive Maximum belongs to CONNACK and CONNECT, not to PUBLISH; --force sends it anyway"
    ),
    "-D CONNECT will-delay-interval 5": (
        "--property: Will Delay Interval belongs to WILL, not to CONNECT; --force sends it anyway"
    ),
    "-D PUBLISH content-type x -D PUBLISH content-type y": (
        "Content Type occurs 2 times, but may occur only once (MQTT5-2.2.2.2/repeated); --force sends it anyway"
    ),
    "-D DISCONNECT topic-alias 5": (
        "--property: Topic Alias belongs to PUBLISH, not to DISCONNECT; --force sends it anyway"
    ),
    "-V 3.1.1 -D CONNECT receive-maximum 5": (
        "--property CONNECT receive-maximum needs MQTT 5, but the version is 3.1.1"
    ),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_reported_in_one_line(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, *PLAIN, *line.split()) == WRONG[line]


def test_force_puts_a_property_where_it_does_not_belong() -> None:
    assert publish(*["-D", "PUBLISH", "receive-maximum", "5", "--force"]) == "30 08 00 01 61 03 21 00 05 78"


def test_a_secret_among_them_can_be_masked() -> None:
    assert masked_setting("CONNECT authentication-data abc") == ["CONNECT", "authentication-data", "***"]
    assert masked_setting(["CONNECT", "receive-maximum", 20]) == ["CONNECT", "receive-maximum", "20"]
    assert masked_setting("CONNECT authentication-data") == ["*******", "*******************"]
