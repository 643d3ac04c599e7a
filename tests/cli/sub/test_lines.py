"""Messages as lines, whatever their payloads are."""

import json

import pytest

from mqttpub.cli.sub.flags import FORMAT, JSON, LINES, OutputForm
from mqttpub.cli.sub.lines import writer
from mqttpub.live.receive import ReceivedMessage
from mqttpub.payload.formats import payload_reader

# What Python can read and what it can write end at different depths; some of these lie between.
NESTED = {
    "json": [b"[\n" * depth + b"]" * depth for depth in (*range(900, 1010), 100_000)],
    "cbor": [b"\x81" * depth + b"\1" for depth in (*range(100, 1010, 7), 100_000)],
    "msgpack": [b"\x91" * depth + b"\1" for depth in (*range(100, 1010, 7), 100_000)],
}


def message(payload: bytes) -> ReceivedMessage:
    return ReceivedMessage("t", payload, 0, False, False, None, (), 0)


def no_remark(message: ReceivedMessage, sentence: str) -> None:
    pytest.fail(sentence)


@pytest.mark.parametrize("format", NESTED)
@pytest.mark.parametrize("kind", [LINES, JSON])
def test_deep_nesting_is_written_as_it_is_or_as_bytes_with_a_complaint(kind: str, format: str) -> None:
    complaints: list[str] = []
    form = OutputForm(kind, payload_format=format, reader=payload_reader(format))
    write = writer(form, lambda message, reason: complaints.append(reason), no_remark)
    for payload in NESTED[format]:
        assert write([message(payload)]).endswith(b"\n")
    assert complaints
    assert all(each.startswith(f"{format}: ") and "nested too deeply" in each for each in complaints)


def test_what_a_payload_has_beside_its_value_is_said_or_is_in_the_record() -> None:
    twice, said = bytes.fromhex("a2 6161 01 6161 02"), 'the map at offset 0 has the key "a" 2 times'
    remarks: list[str] = []
    lines = writer(
        OutputForm(LINES, payload_format="cbor", reader=payload_reader("cbor")), no_remark,
        lambda message, sentence: remarks.append(sentence),
    )  # fmt: skip
    assert lines([message(twice)]) == b'{"map": [["a", 1], ["a", 2]]}\n'
    assert remarks == [said]
    records = writer(OutputForm(JSON, payload_format="cbor", reader=payload_reader("cbor")), no_remark, no_remark)
    assert json.loads(records([message(twice)]))["received"]["remarks"] == [said]


@pytest.mark.parametrize(
    ("format", "payload"),
    [("json", b"-0"), ("json", b"[-0,\n-0.0]"), ("cbor", b"\xf9\x80\x00"), ("msgpack", b"\xca\x80\x00\x00\x00")],
)
def test_zero_keeps_its_sign(format: str, payload: bytes) -> None:
    for kind, options in ((LINES, format), (JSON, format)):
        form = OutputForm(kind, payload_format=options, reader=payload_reader(format))
        written = writer(form, no_remark, no_remark)([message(payload)]).decode()
        assert written.count("-0") == payload.count(b"-0") or "-0.0" in written
    assert "-0" in writer(OutputForm(FORMAT, format="%J"), no_remark, no_remark)([message(b"-0")]).decode()


@pytest.mark.parametrize("pretty", [False, True])
def test_what_a_format_string_cannot_write_as_json_is_text(pretty: bool) -> None:
    write = writer(OutputForm(FORMAT, format="%J", pretty=pretty), no_remark, no_remark)
    for payload in (b"[NaN]", b"[1e999]", NESTED["json"][-1]):
        assert json.loads(write([message(payload)]))["payload"] == payload.decode()
    for payload in NESTED["json"][::10]:
        assert write([message(payload)]).endswith(b"\n")
