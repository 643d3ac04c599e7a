"""Flags of packet fields, generated from the declarations in `spec`."""

from typing import Any

from ...spec.constraints import OneOf
from ...spec.declare import Field
from ...spec.versions import Version
from ...wire.types import BINARY, BYTE, REST, STRING, U16, WireType
from .base import Flag
from .types import BYTE_NUMBER, OCTETS, PASSWORD, U16_NUMBER, NumberType

NAMES = {
    "topic": ("-t", "--topic"),
    "qos": ("-q", "--qos"),
    "retain": ("-r", "--retain"),
    "client_id": ("-i", "--client-id"),
    "username": ("-u", "--username"),
    "password": ("-P", "--password"),
    "keep_alive": ("-k", "--keep-alive"),
    "filter": ("-t", "--filter"),
    "filters": ("-t", "--filter"),
    "reason_codes": ("--reason-code",),
    "will_topic": ("-Wt", "--will-topic"),
    "will_payload": ("-Wm", "--will-message"),
    "will_qos": ("-Wq", "--will-qos"),
    "will_retain": ("-Wr", "--will-retain"),
}
"""Flags not named after their field, but as `pub` and other clients name them."""
ALIASES = {
    "filter": ("--topic",),
    "filters": ("--topic",),
    "clean_start": ("--clean",),
    "will_topic": ("--willTopic",),
    "will_payload": ("--will-payload", "--willPayload", "--willMessage"),
    "will_qos": ("--willQos", "--willQualityOfService"),
    "will_retain": ("--willRetain",),
}
TYPES: dict[WireType, Any] = {BYTE: BYTE_NUMBER, U16: U16_NUMBER, STRING: str, BINARY: OCTETS, REST: OCTETS}


def field_key(field: Field) -> str:
    """Return the parameter name of a field; bits of the first byte that only 3.1 has get a prefix."""
    old = field.mask and not field.octet and field.until < Version.V5
    return f"header_{field.key}" if old else field.key


def field_flag(field: Field, prefix: str = "") -> Flag:
    """Return the flag of one declared field."""
    key = prefix + field_key(field)
    names = NAMES.get(key, ("--" + key.replace("_", "-"),))
    aliases = ALIASES.get(key, ())
    few = _few(field)
    help = f"{field.label}{f' ({few})' if few else ''}{f': {field.doc}' if field.doc else ''}."
    if field.single and not field.derived:
        both = f"{names[-1]}/--no-{names[-1].lstrip('-')}"
        return Flag([*names[:-1], both, key], aliases=aliases, default=None, help=help)
    type: Any = field.item or field.type
    kind = NumberType(0, field.mask >> field.shift, wrong=_wrong(field)) if field.mask else TYPES[type]
    if field.kind == "secret":
        kind = PASSWORD
    return Flag([*names, key], aliases=aliases, type=kind, multiple=field.shape == "list", default=None, help=help)


def _wrong(field: Field) -> str:
    few = _few(field)
    return f"is not {few}" if few else ""


def _few(field: Field) -> str:
    """Return the legal values of a field that has only a few, such as `0, 1 or 2`."""
    few = next((limit.allowed for limit in field.limits if isinstance(limit, OneOf)), ())
    return f"{', '.join(map(str, few[:-1]))} or {few[-1]}" if few[1:] else ""
