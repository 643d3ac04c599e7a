"""Packets as JSON in tshark's shape."""

import json
from typing import Any

import pytest
from hypothesis import given

from mqttpub.codec.decode import decode
from mqttpub.lint.packet.check import lint
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction, Version
from mqttpub.view.export.tshark_json import tshark_json
from tests.view.export.test_pdml import seen
from tests.view.samples import BROKEN, CONNECT, laws, of, wires


def parsed(*given: Any, secrets: bool = False, pairs: Any = dict) -> Any:
    """Return a document as a JSON reader sees it."""
    return json.loads("\n".join(tshark_json(given, secrets=secrets)), object_pairs_hook=pairs)


def test_the_whole_of_a_small_packet() -> None:
    data = bytes.fromhex("d0 00")
    assert "\n".join(tshark_json([(decode(data), seen(data))])) == EXPECTED


EXPECTED = """\
[
  {
    "_source": {
      "layers": {
        "frame": {
          "frame.number": "12",
          "frame.time_epoch": "1700000000.123456789"
        },
        "mqtt_raw": ["d000", 0, 2, 0, 1],
        "mqtt": {
          "mqtt.hdrflags_raw": ["d0", 0, 1, 0, 4],
          "mqtt.hdrflags": "0xd0",
          "mqtt.hdrflags_tree": {
            "mqtt.msgtype_raw": ["D", 0, 1, 240, 4],
            "mqtt.msgtype": "13",
            "mqtt.hdr_reserved_raw": ["0", 0, 1, 15, 4],
            "mqtt.hdr_reserved": "0"
          },
          "mqtt.len_raw": ["00", 1, 1, 0, 11],
          "mqtt.len": "0"
        }
      }
    }
  }
]"""


@pytest.mark.slow
@laws
@given(wires())
def test_it_is_ascii_json_for_any_bytes(wire: tuple[bytes, Version]) -> None:
    decoded = decode(*wire)
    decoded.findings = lint(decoded)
    text = "\n".join(tshark_json([(decoded, None)], secrets=True))
    assert text.isascii()
    (made,) = json.loads(text)
    assert made["_source"]["layers"]["mqtt_raw"] == [wire[0].hex(), 0, len(wire[0]), 0, 1]


def test_no_packets_and_many() -> None:
    assert parsed() == []
    assert len(parsed(*((decode(data), None) for data in BROKEN))) == len(BROKEN)


def test_keys_are_repeated_as_tshark_repeats_them() -> None:
    decoded = of(Publish(topic="t", properties=(Property(0x26, ("a", "b")), Property(0x26, ("c", "d")))))
    text = "\n".join(tshark_json([(decoded, None)]))
    assert text.count('"mqtt.prop_key": ') == 2
    assert '"mqtt.properties_raw": ["0e26000161000162260001630001' in text


def test_bytes_that_are_not_utf_8_become_a_replacement_character_beside_their_hex() -> None:
    (made,) = parsed((decode(bytes.fromhex("30 06 0003 61fe62 00")), None))
    layer = made["_source"]["layers"]["mqtt"]
    assert (layer["mqtt.topic"], layer["mqtt.topic_raw"][0]) == ("a\ufffdb", "61fe62")


def test_findings_and_secrets() -> None:
    decoded = of(CONNECT)
    decoded.findings = lint(decode(bytes.fromhex("38 05 0001 61 00 78")), Direction.SERVER)
    (made,) = parsed((decoded, None))
    layer = made["_source"]["layers"]["mqtt"]
    expert = layer["_ws.expert"]
    assert (expert["mqttpub.statement"], expert["mqttpub.at_fault"]) == ("MQTT5-3.3.1-2", "server")
    assert (layer["mqtt.passwd"], layer["mqtt.passwd_raw"][0]) == ("*" * 7, "*" * 14)
    (made,) = parsed((decoded, None), secrets=True)
    assert made["_source"]["layers"]["mqtt"]["mqtt.passwd"] == "s3cret!"
