"""The kind and the schema of each payload, as a function on batches that an engine calls."""

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

import pyarrow as pa

from ...payload.kinds import PayloadForms
from ..rows import schema_of


class PayloadMessage(NamedTuple):
    """A PUBLISH without its payload."""

    topic: str | None
    stream: str
    """The client that received it; empty for what publishers sent."""
    who: str
    time: int | None
    """Microseconds since 1970."""
    capture: str
    frame: int
    pos: int
    size: int


class FormOfMessage(NamedTuple):
    """The form of a payload."""

    kind: str
    version: int
    """The same for the same kind and schema."""
    schema: str | None
    """Of the rows of a batch with one topic and one version, only the first has it."""
    repeated: bool
    cut: bool


FORMS = pa.schema([*schema_of(PayloadMessage), *schema_of(FormOfMessage)])
"""The columns of messages with their forms."""


@cache
def _forms() -> PayloadForms:
    """Return that of this process, as its memory of schemas makes it quick."""
    return PayloadForms()


def forms(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield messages with the forms of their payloads, from the columns of PayloadMessage and `payload` (binary)."""
    for batch in batches:
        found = pa.RecordBatch.from_pylist([form._asdict() for form in _of(batch)], schema_of(FormOfMessage))
        given = [batch[name].cast(FORMS.field(name).type) for name in PayloadMessage._fields]
        yield pa.RecordBatch.from_arrays([*given, *found.columns], schema=FORMS)


def _of(batch: pa.RecordBatch) -> Iterator[FormOfMessage]:
    of, versions, seen = _forms().of, dict[tuple[str, str], int](), set[tuple[str | None, int]]()
    for topic, payload in zip(batch["topic"].to_pylist(), batch["payload"].to_pylist(), strict=True):
        form = of(topic, payload)
        key = form.kind, form.schema
        version = versions.get(key)
        if version is None:
            version = versions[key] = _version(*key)
        first = (topic, version) not in seen
        seen.add((topic, version))
        yield FormOfMessage(form.kind, version, form.schema if first else None, form.repeated, form.cut)


def _version(kind: str, schema: str) -> int:
    digest = blake2b(f"{kind}\0{schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
