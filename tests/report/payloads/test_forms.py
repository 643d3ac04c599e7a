"""Forms of payloads as columns."""

import pyarrow as pa

from mqttpub.report.payloads.forms import FORM, forms

HOSTILE = [
    b"[" * 5000, b'{"a":1,"a":2}', b'{"\xff": 1}', b'{"' + b"k" * (1 << 20) + b'": 1}', b"9" * 6000, b'{"\\ud800": 1}',
    b'{"\\u0000\\u001b[31m": "\\u0007"}', b"\xed\xa0\x80", b"\x81" * 600, b"\xdf\xff\xff\xff\xff", b"", b"\0" * 1000,
]  # fmt: skip


def test_each_topic_has_the_text_of_a_schema_once_in_a_batch() -> None:
    topics = pa.array(["a", "a", "b", None, "a", "a"])
    payloads = pa.array([b'{"x": 1}', b'{"x": 2}', b'{"x": 3}', b'{"x": 4}', None, b"text"], pa.binary())
    found = forms(topics, payloads)
    assert found.type == FORM
    rows = found.to_pylist()
    assert [row and row["schema"] for row in rows] == ["x\tnumber", None, "x\tnumber", "x\tnumber", None, ""]
    assert len({row["version"] for row in rows if row and row["kind"] == "JSON object"}) == 1
    assert rows[4] is None
    # The same in every process, as the rows of a topic come from several.
    assert forms(topics[:1], payloads[:1])[0]["version"] == found[0]["version"]


def test_hostile_payloads_have_short_forms() -> None:
    found = forms(pa.array(["t"] * len(HOSTILE)), pa.array(HOSTILE, pa.binary())).to_pylist()
    assert all(len(row["schema"] or "") < 20_000 for row in found)
    assert [row["repeated"] for row in found].count(True) == 1
    for row in found:
        assert (row["schema"] or "").replace("\n", "").replace("\t", "").isprintable()
