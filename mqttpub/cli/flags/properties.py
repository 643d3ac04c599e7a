"""Flags of properties, generated from the table in `spec`, and the properties they give."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from ...spec.constraints import NonZero
from ...spec.declare import Property
from ...spec.properties import WILL, PropertyRow, of_packet
from ...spec.versions import Version
from ...wire.types import BYTE, WireType
from .base import Flag, FlagValues
from .types import AUTO, PROPERTY_TYPES, SPECIAL_TYPES, WORDS_OF_SESSIONS, NumberType

PREFIXES = {"PUBLISH": "", "CONNECT": "connect_", WILL: "will_", "DISCONNECT": "disconnect_"}
"""Prefixes of the flags, in a command that builds all of these packets."""
WHOSE = {"connect": " of CONNECT", "will": " of the will", "disconnect": " of DISCONNECT"}
SHORT_NAMES = {
    "payload_format_indicator": ("-pf",),
    "message_expiry_interval": ("-e",),
    "topic_alias": ("-ta",),
    "response_topic": ("-rt",),
    "correlation_data": ("-cd",),
    "user_property": ("-up",),
    "content_type": ("-ct",),
    "subscription_identifier": ("-si",),
    "session_expiry_interval": ("-x", "-se"),
    "authentication_method": ("-am",),
    "connect_user_property": ("-Cup",),
    "will_delay_interval": ("-Wd",),
    "will_payload_format_indicator": ("-Wpf",),
    "will_message_expiry_interval": ("-We",),
    "will_content_type": ("-Wct",),
    "will_response_topic": ("-Wrt",),
    "will_correlation_data": ("-Wcd",),
    "will_user_property": ("-Wup",),
}
"""Short flags that other clients use for them."""
MORE_NAMES = {
    "user_property": ("--user-properties",),
    "connect_user_property": ("--conn-user-properties",),
    "will_user_property": ("--will-user-properties",),
    "receive_maximum": ("--rcv-max", "--rcvMax"),
    "maximum_packet_size": ("--maxPacketSize",),
    "topic_alias_maximum": ("--topicAliasMax",),
    "request_response_information": ("--req-response-info", "--reqResponseInfo"),
    "request_problem_information": ("--req-problem-info", "--reqProblemInfo"),
}
"""Long names that other clients use, besides camel case."""


def options_of(packet: str, *, alone: bool = False) -> dict[str, PropertyRow]:
    """Return the properties of a packet by the parameter names of their flags.

    `alone` is for a command that builds no other packet. CONNECT flags have a prefix only where
    PUBLISH has the same property.
    """
    prefix = "" if alone else PREFIXES[packet]
    return {_key(row, prefix): row for row in of_packet(packet)}


def _key(row: PropertyRow, prefix: str) -> str:
    if prefix == PREFIXES["CONNECT"] and "PUBLISH" not in row.packets:
        return row.key
    return prefix + row.key.removeprefix(prefix)


def property_flags(packet: str, *, alone: bool = False) -> list[Flag]:
    """Return the flags of all properties that a packet may carry."""
    return [property_option(key, row, session=not alone) for key, row in options_of(packet, alone=alone).items()]


def property_option(key: str, row: PropertyRow, *, session: bool) -> Flag:
    """Return the flag of one property; only a `session` with a broker can choose a Topic Alias itself."""
    name = dashed(key)
    aliases = {camel_case(key), *MORE_NAMES.get(key, ())} - {name}
    given: dict[str, Any] = {"type": (WORDS_OF_SESSIONS.get(row.key) if session else None) or flag_type(row)}
    if row.type is BYTE:
        given |= {"is_flag": False, "flag_value": "1"}
    if row.repeatable:
        given["multiple"] = True
    return Flag(
        [*SHORT_NAMES.get(key, ()), name, key], aliases=sorted(aliases), help=_help(key, row, given["type"]), **given
    )


def flag_type(row: PropertyRow) -> Any:
    """Return the type of the value of a property on the command line."""
    if special := SPECIAL_TYPES.get(row.key):
        return special
    if (top := TOPS.get(row.type)) and _is_not_zero(row):
        return NumberType(0, top, least=1)
    return PROPERTY_TYPES[row.type]


def _is_not_zero(row: PropertyRow) -> bool:
    return any(isinstance(limit, NonZero) for limit in row.limits)


def _help(key: str, row: PropertyRow, type: Any) -> str:
    whose = "" if key == row.key else WHOSE[key.split("_")[0]]
    return f"{row.label}{whose} (0x{row.id:02x}, {_range(row, type)}since MQTT 5): {row.doc}."


def _range(row: PropertyRow, type: Any) -> str:
    top = TOPS.get(row.type)
    if top is None:
        return ""
    low = int(_is_not_zero(row))
    unit = f" {row.unit}" if row.unit else ""
    word = next((f" or {word}" for word in ("never", "auto") if word in getattr(type, "words", {})), "")
    return f"{low} {'to' if top > 1 else 'or'} {top}{unit}{word}, "


TOPS: dict[WireType, int] = {
    **{type: kind.high for type, kind in PROPERTY_TYPES.items() if hasattr(kind, "high")},
    BYTE: 1,
}
"""Highest legal value of each numeric data type."""


def dashed(key: str) -> str:
    """Return a key as a long flag."""
    return "--" + key.replace("_", "-")


def camel_case(key: str) -> str:
    """Return a key as a long flag in camel case, as some clients write it."""
    first, *rest = key.split("_")
    return f"--{first}{''.join(part.title() for part in rest)}"


def chosen_properties(packet: str, given: FlagValues, version: Version, *, alone: bool = False) -> tuple[Property, ...]:
    """Return the properties that flags gave, ordered by Identifier, then those of --property; raises UsageError."""
    chosen: list[Property] = []
    for key, row in options_of(packet, alone=alone).items():
        value = given.get(key)
        if value is None or value == ():
            continue
        need_version_5(dashed(key), version)
        if key == "topic_alias" and value == AUTO:
            continue
        values: Iterable[Any] = value if row.repeatable else (value,)
        chosen.extend(Property(row.id, each) for each in values)
    return (*chosen, *named_properties(packet, given, version))


def named_properties(packet: str, given: FlagValues, version: Version) -> Iterator[Property]:
    """Yield the properties that --property gave a packet; raises UsageError for one it may not carry."""
    for place, row, value in given.get("property", ()):
        if place != packet:
            continue
        need_version_5(f"--property {place} {row.key.replace('_', '-')}", version)
        if place not in row.packets and not given["force"]:
            where = " and ".join(sorted(row.packets))
            raise click.UsageError(
                f"--property: {row.label} belongs to {where}, not to {place}; --force sends it anyway"
            )
        yield Property(row.id, value)


def need_version_5(name: str, version: Version) -> None:
    """Raise UsageError for a flag that only MQTT 5 supports."""
    if version < Version.V5:
        raise click.UsageError(f"{name} needs MQTT 5, but the version is {version.label}")
