"""The kind of a payload, by its bytes and its topic."""

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.payload import kinds
from mqttpub.payload.kinds import PayloadForm, PayloadForms
from mqttpub.payload.library import library
from tests.build.known_payloads import metric, sparkplug

FORMS = PayloadForms()
VALUE = {"temp": 21.5, "unit": "C"}


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b"", "empty"), (b'{"a": 1}', "JSON object"), (b" [1] ", "JSON array"), (b"21.5", "JSON number"),
        (b'"on"', "JSON string"), (b"true", "JSON boolean"), (b"null", "JSON null"), (b"ON", "text"), (b"NaN", "text"),
        ("\u00fcber\tvoll\r\n".encode(), "text"), (b"<a/>", "text"), (b"\0", "binary"), (b"a\x1b[0m", "binary"),
        (b"\xff\xfe", "binary"), (b'{"a": "\xff"}', "binary"), (cbor2.dumps(VALUE), "CBOR"),
        (library("msgpack", "msgpack").packb(VALUE), "MessagePack"), (b"[" * 10_000, "JSON, nested too deeply"),
    ],
)  # fmt: skip
def test_kinds(payload: bytes, kind: str) -> None:
    assert FORMS.of("a/b", payload).kind == kind
    assert FORMS.of(None, payload).kind == kind


def test_only_objects_and_arrays_have_a_schema() -> None:
    assert FORMS.of("t", b'{"a": {"b": null}}') == PayloadForm("JSON object", "a\tobject\na.b\tnull")
    assert FORMS.of("t", b"[2]").schema == "[]\tnumber"
    assert FORMS.of("t", b"2").schema == FORMS.of("t", b"ON").schema == ""


def test_topics_tell_what_is_sparkplug() -> None:
    whole = sparkplug(0, metric("a", 1, 2))
    assert FORMS.of("spBv1.0/g/NBIRTH/n", whole).kind == "Sparkplug B"
    assert FORMS.of("spBv1.0/g/NBIRTH/n", b"").kind == "Sparkplug B"
    assert FORMS.of("spBv1.0/g/NBIRTH/n", whole[:-1]).kind == "Sparkplug B, malformed"
    assert FORMS.of("spBv1.0/STATE/host", b'{"online": true}').kind == "JSON object"
    assert FORMS.of("other/NBIRTH/n", whole).kind in ("binary", "MessagePack", "text")


def test_without_protobuf_topics_alone_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "sparkplug_decoder", lambda: None)
    assert PayloadForms().of("spBv1.0/g/NBIRTH/n", b"\xff").kind == "Sparkplug B"


@given(st.sampled_from(["t", "spBv1.0/g/NDATA/n", "STATE/h", "spBv1.0/", ""]), st.binary())
def test_any_bytes_have_a_kind(topic: str, payload: bytes) -> None:
    assert FORMS.of(topic, payload).kind
