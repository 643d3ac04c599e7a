"""Forms of payloads as columns."""

from typing import Any

import pyarrow as pa

from mqttpub.report.payloads.forms import FORMS, PayloadMessage, forms

HOSTILE = [
    b"[" * 5000, b'{"a":1,"a":2}', b'{"\xff": 1}', b'{"' + b"k" * (1 << 20) + b'": 1}', b"9" * 6000, b'{"\\ud800": 1}',
    b'{"\\u0000\\u001b[31m": "\\u0007"}', b"\xed\xa0\x80", b"\x81" * 600, b"\xdf\xff\xff\xff\xff", b"", b"\0" * 1000,
]  # fmt: skip


def formed(topics: list[str | None], payloads: list[bytes]) -> list[dict[str, Any]]:
    """Return the rows of messages with their forms, from one batch."""
    rows = [{**PayloadMessage(topic, "", "c", None, "a", 1, 0, 0)._asdict(), "payload": payload}
            for topic, payload in zip(topics, payloads, strict=True)]  # fmt: skip
    (found,) = forms(iter([pa.RecordBatch.from_pylist(rows)]))
    assert found.schema == FORMS
    return list(found.to_pylist())


def test_each_topic_has_the_text_of_a_schema_once_in_a_batch() -> None:
    payloads = [b'{"x": 1}', b'{"x": 2}', b'{"x": 3}', b'{"x": 4}', b"text"]
    rows = formed(["a", "a", "b", None, "a"], payloads)
    assert [row["schema"] for row in rows] == ["x\tnumber", None, "x\tnumber", "x\tnumber", ""]
    assert len({row["version"] for row in rows if row["kind"] == "JSON object"}) == 1
    # The same in every process, as the rows of a topic come from several.
    assert formed(["a"], payloads[:1])[0]["version"] == rows[0]["version"]


def test_hostile_payloads_have_short_forms() -> None:
    found = formed(["t"] * len(HOSTILE), HOSTILE)
    assert all(len(row["schema"] or "") < 20_000 for row in found)
    assert [row["repeated"] for row in found].count(True) == 1
    for row in found:
        assert (row["schema"] or "").replace("\n", "").replace("\t", "").isprintable()
