"""One packet as a JSON record, and back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...codec.from_json import packet_of
from ...codec.tree import Decoded, Node
from ...common.strict_json import parse_portable_json
from ...common.times import iso_of
from ...wire.cursor import Span
from ...wire.types import PAIR
from .masking import hidden, masked_hex
from .payload import classify
from .values import describe
from .verdict import finding_record

if TYPE_CHECKING:
    from .formatted import PayloadFormat

__all__ = ["dumps", "packet_of", "record"]


def record(
    decoded: Decoded, *, time: float | None = None, secrets: bool = False, payloads: "PayloadFormat | None" = None
) -> dict[str, Any]:
    """Return one packet as a JSON object; `time` is in seconds since 1970.

    Secrets are asterisks of the same length unless `secrets`. Offsets count from the first byte of the packet, except
    that of the packet itself, which counts from the start of its stream. Payloads have their value in the format
    `payloads` beside their bytes.
    """
    return _Recorder(decoded, secrets, payloads).record(time)


def dumps(record: Any) -> str:
    """Return a record, or any value of JSON, as one line of ASCII. Raises ValueError for a number that JSON lacks."""
    import json

    return json.dumps(record, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def _place(span: Span, mask: int = 0) -> dict[str, Any]:
    place = {"offset": span.start, "length": span.length}
    return {**place, "mask": mask} if mask else place


class _Recorder:
    def __init__(self, decoded: Decoded, secrets: bool, payloads: "PayloadFormat | None") -> None:
        self.decoded = decoded
        self.secrets = secrets
        self.payloads = payloads
        self.hidden = () if secrets else hidden(decoded)

    def record(self, time: float | None) -> dict[str, Any]:
        decoded = self.decoded
        return {
            **({} if time is None else {"time": iso_of(time)}),
            "direction": decoded.direction.value if decoded.direction else None,
            "type": decoded.name,
            "version": decoded.version.label,
            "offset": decoded.offset,
            "length": len(decoded.data),
            "hex": self.hex(Span(0, len(decoded.data))),
            "fields": [self.field(path, node) for path, node in decoded.root.walk() if _is_leaf(node)],
            **dict(self.extras(decoded.root)),
            "findings": [finding_record(each) for each in decoded.findings],
        }

    def hex(self, span: Span) -> str:
        """Return bytes in hex, with two asterisks for each secret byte."""
        return masked_hex(self.decoded.data, self.hidden, *span)

    def field(self, path: str, node: Node) -> dict[str, Any]:
        return {"path": path, **_place(node.span, node.mask), "value": self.value(node), "text": self.text(node)}

    def text(self, node: Node) -> str:
        """Return the value in words; of bytes only what they appear to be."""
        about = describe(node, self.decoded, secrets=self.secrets)
        words = about.head if isinstance(node.value, bytes) else about.inline
        return "".join(text for text, _ in words or (segment for _, line in about.below for segment in line))

    def value(self, node: Node) -> Any:
        """Return the value of a leaf; a text that no JSON string can hold as its bytes."""
        value = node.value
        if isinstance(value, str) and not _encodable(value):
            value = value.encode("utf-8", "surrogateescape")
        if isinstance(value, bytes):
            return {"hex": self.hex(Span(node.span.start + node.prefix, node.span.stop))}
        return value

    def extras(self, node: Node, group: str = "") -> Iterator[tuple[str, Any]]:
        """Yield the property lists and the payloads, each with the name of its group."""
        for child in node.children:
            if child.kind == "properties":
                yield f"{group}properties", list(self.properties(child))
            elif child.kind == "payload":
                yield f"{group}payload", self.payload(child.value)
            elif child.kind == "group":
                yield from self.extras(child, f"{child.name}_")

    def payload(self, data: bytes) -> dict[str, Any]:
        """Return a payload as what it appears to be, or its bytes and its value in the format that was asked for."""
        if self.payloads is None:
            return _payload(data)
        kind, text = classify(data)
        return {**({"base64": _base64(data)} if kind == "binary" else {"text": text}), **self.payloads.members(data)}

    def properties(self, node: Node) -> Iterator[dict[str, Any]]:
        for each in node.children:
            if each.kind != "property" or (each.row and each.children[-1].kind == "gap") or not each.children[1:]:
                continue
            identifier, *values = each.children
            value = [self.value(one) for one in values] if each.row and each.row.type is PAIR else self.value(values[0])
            yield {"id": identifier.value, "name": each.name, "value": value, **_place(each.span)}


def _is_leaf(node: Node) -> bool:
    return not node.children and node.span.start < node.span.stop


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _payload(data: bytes) -> dict[str, Any]:
    """Return a payload as JSON or text if that is lossless, otherwise as base64."""
    kind, text = classify(data)
    if kind == "json":
        try:
            return {"json": parse_portable_json(text)}
        except ValueError:
            kind = "text"
    return {"base64": _base64(data)} if kind == "binary" else {"text": text}


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode("ascii")
