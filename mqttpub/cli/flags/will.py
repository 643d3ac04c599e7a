"""The flags of the Will Message, which need --will-topic."""

from typing import Any

import click

from ...spec.packets import Connect, Will
from ...spec.properties import WILL
from ...spec.versions import Version
from .base import Flag, FlagValues
from .fields import NAMES, field_flag
from .properties import chosen_properties, dashed, options_of, property_flags

PREFIX = "will_"
FIELDS = tuple(field for field in Will.layout if field.shape == "value")
FLAGS = ("will_qos", "will_retain")
"""Fields of CONNECT that describe the will."""


def group_options() -> list[Flag]:
    """Return the flags of the fields and properties present only with a will."""
    return [*(field_flag(field, PREFIX) for field in FIELDS), *property_flags(WILL)]


def will_options() -> list[Flag]:
    """Return all flags of the will."""
    topic, payload, *properties = group_options()
    return [topic, payload, *(field_flag(Connect.fields[key]) for key in FLAGS), *properties]


def will(given: FlagValues, version: Version) -> Will | None:
    """Return the will that the flags describe, None without one; raises UsageError for a part without the topic."""
    values = {field.key: given[PREFIX + field.key] for field in FIELDS if given[PREFIX + field.key] is not None}
    properties = chosen_properties(WILL, given, version)
    if "topic" in values:
        return Will(**values, properties=properties)
    if values or properties:
        raise _without_topic(given)
    return None


def will_bits(given: FlagValues) -> dict[str, Any]:
    """Return the CONNECT fields that describe the will; raises UsageError without a will."""
    bits = {key: given[key] for key in FLAGS if given[key] is not None}
    if bits and given["will_topic"] is None:
        raise _without_topic(given)
    return bits


def _without_topic(given: FlagValues) -> click.UsageError:
    keys = [key for key in ("will_payload", *FLAGS, *options_of(WILL)) if given[key] not in (None, ())]
    names = [NAMES.get(key, (dashed(key),))[-1] for key in keys]
    names += ["--property WILL"] * any(each.packet == WILL for each in given.get("property", ()))
    return click.UsageError(f"{' and '.join(names)} need{'s' * (len(names) == 1)} --will-topic")
