"""The kind and the schema of each payload, as a function on columns that Spark calls in its tasks."""

from functools import cache
from hashlib import blake2b
from typing import Any

import pyarrow as pa

from ...payload.kinds import PayloadForms

FORM = pa.struct(
    [("kind", pa.string()), ("version", pa.int64()), ("schema", pa.string()), ("repeated", pa.bool_()),
     ("cut", pa.bool_())]
)  # fmt: skip
"""The form of a payload; `version` is the same for the same kind and schema.

Of the rows of a batch with one topic and one version, only the first has its schema.
"""


@cache
def _forms() -> PayloadForms:
    """Return that of this process, as its memory of schemas makes it quick."""
    return PayloadForms()


def forms(topics: pa.Array, payloads: pa.Array) -> pa.Array:
    """Return the forms of payloads (binary) on their topics; null for null."""
    of, versions, seen = _forms().of, dict[tuple[str, str], int](), set[tuple[str | None, int]]()
    found: list[dict[str, Any] | None] = []
    for topic, payload in zip(topics.to_pylist(), payloads.to_pylist(), strict=True):
        if payload is None:
            found.append(None)
            continue
        form = of(topic, payload)
        key = form.kind, form.schema
        version = versions.get(key)
        if version is None:
            version = versions[key] = _version(*key)
        first = (topic, version) not in seen
        seen.add((topic, version))
        found.append(
            {"kind": form.kind, "version": version, "schema": form.schema if first else None,
             "repeated": form.repeated, "cut": form.cut}
        )  # fmt: skip
    return pa.array(found, FORM)


def _version(kind: str, schema: str) -> int:
    digest = blake2b(f"{kind}\0{schema}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
