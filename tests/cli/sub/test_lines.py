"""Messages as lines, whatever their payloads are."""

import json

import pytest

from mqttpub.cli.sub.flags import FORMAT, JSON, LINES, OutputForm
from mqttpub.cli.sub.lines import writer
from mqttpub.live.receive import ReceivedMessage
from mqttpub.payload.readers import payload_reader

# What Python can read and what it can write end at different depths; some of these lie between.
NESTED = {
    "json": [b"[\n" * depth + b"]" * depth for depth in (*range(900, 1010), 100_000)],
    "cbor": [b"\x81" * depth + b"\1" for depth in (*range(100, 1010, 7), 100_000)],
    "msgpack": [b"\x91" * depth + b"\1" for depth in (*range(100, 1010, 7), 100_000)],
}


def message(payload: bytes) -> ReceivedMessage:
    return ReceivedMessage("t", payload, 0, False, False, None, (), 0)


@pytest.mark.parametrize("format", NESTED)
@pytest.mark.parametrize("kind", [LINES, JSON])
def test_deep_nesting_is_written_as_it_is_or_as_bytes_with_a_complaint(kind: str, format: str) -> None:
    complaints: list[str] = []
    form = OutputForm(kind, payload_format=format, reader=payload_reader(format))
    write = writer(form, lambda message, reason: complaints.append(reason))
    for payload in NESTED[format]:
        assert write([message(payload)]).endswith(b"\n")
    assert complaints
    assert all(
        each.startswith(f"{format}: ") and ("nested too deeply" in each or "nesting depth" in each)
        for each in complaints
    )


@pytest.mark.parametrize("pretty", [False, True])
def test_what_a_format_string_cannot_write_as_json_is_text(pretty: bool) -> None:
    write = writer(OutputForm(FORMAT, format="%J", pretty=pretty), lambda message, reason: None)
    for payload in (b"[NaN]", b"[1e999]", NESTED["json"][-1]):
        assert json.loads(write([message(payload)]))["payload"] == payload.decode()
    for payload in NESTED["json"][::10]:
        assert write([message(payload)]).endswith(b"\n")
