"""Versions and variables through a script."""

import pytest

from mqttpub.common.bad_text import BadText
from mqttpub.script.encoder import ScriptEncoder
from mqttpub.script.reader import read_script
from mqttpub.script.steps import PacketStep, VersionStep
from mqttpub.spec.versions import Version


def encoded(text: str, asked: Version | None = None) -> list[str]:
    """Return the bytes of each packet of a script in hex."""
    encoder, found = ScriptEncoder(asked, lambda: {"username": "u"}), []
    for step in read_script(text.splitlines()):
        if isinstance(step, VersionStep):
            encoder.version_line(step)
        elif isinstance(step, PacketStep):
            found.append(encoder.bytes_of(step).hex())
    return found


CONNECT_5 = "101100044d5154540582003c0000016300" + "0175"
CONNECT_311 = "101000044d5154540482003c000163000175"


@pytest.mark.parametrize(
    ("text", "asked", "hex"),
    [
        ("> connect", None, [CONNECT_5]),
        ("> connect", Version.V311, [CONNECT_311]),
        ("version 3.1.1\n> connect", None, [CONNECT_311]),
        ("version 3.1.1 5.0\n> connect\n< puback i1 c10", None, [CONNECT_311, "40020001"]),
        ("version 3.1.1 5.0\n> connect\n< puback i1 c10", Version.V5, [CONNECT_5, "4003000110"]),
        ("> connect protocol_level=4\n> publish", None, [CONNECT_311, "3004000161" + "78"]),
        ("[a] > connect protocol_level=4\n[a] > publish\n[b] > publish", None,
         [CONNECT_311, "300400016178", "30050001610078"]),
        ("> raw 100d00044d5154540402003c000163\n> publish", None, ["100d00044d5154540402003c000163", "300400016178"]),
        ("version 5.0\n> publish\nversion 3.1.1\n[b] > publish\n> publish", None,
         ["30050001610078", "300400016178", "30050001610078"]),
    ],
)  # fmt: skip
def test_a_connection_has_the_version_of_its_connect_or_of_the_line_above(
    text: str, asked: Version | None, hex: list[str]
) -> None:
    assert encoded(text, asked) == hex


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        ("version 5.0\n> connect", Version.V311, "line 1, column 1: the script is for MQTT 5.0, not for 3.1.1"),
        ("version 5.0\n> connect protocol_level=4", None,
         "line 2, column 1: this CONNECT is of MQTT 3.1.1, but 5.0 is asked for"),
        ("> raw 100d00044d5154540402003c000163", Version.V5,
         "line 1, column 1: this CONNECT is of MQTT 3.1.1, but 5.0 is asked for"),
        ("version 3.1.1 5.0\n> connect protocol_level=5", Version.V311,
         "line 2, column 1: this CONNECT is of MQTT 5.0, but 3.1.1 is asked for"),
        ("version 3.1.1\n> puback i1 c10", None, "line 2, column 13: PUBACK has no Reason Code in MQTT 3.1.1"),
        ("version 3.1.1\n> auth", None, "line 2, column 1: AUTH needs MQTT 5.0"),
    ],
)  # fmt: skip
def test_versions_that_disagree_are_an_error(text: str, asked: Version | None, message: str) -> None:
    with pytest.raises(BadText) as raised:
        encoded(text, asked)
    assert str(raised.value) == message


def test_the_first_default_of_a_variable_is_its_value() -> None:
    assert encoded("> puback i=$p:7; > pubrel i=$p:8; > pubcomp i=$p") == ["40020007", "62020007", "70020007"]
