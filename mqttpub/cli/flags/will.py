"""The will, which is one group: a topic with all that belongs to it, or nothing."""

from typing import Any

import click

from ...spec.packets import Connect, Will
from ...spec.properties import WILL
from ...spec.versions import Version
from .base import Flag
from .fields import NAMES, field_flag
from .properties import chosen_properties, dashed, options_of, property_flags

PREFIX = "will_"
FIELDS = tuple(field for field in Will.layout if field.shape == "value")
FLAGS = ("will_qos", "will_retain")
"""Fields of CONNECT that are about the will."""


def group_options() -> list[Flag]:
    """Return the options of the fields and properties that are there only with a will."""
    return [*(field_flag(field, PREFIX) for field in FIELDS), *property_flags(WILL)]


def will_options() -> list[Flag]:
    """Return all options about the will."""
    topic, payload, *properties = group_options()
    return [topic, payload, *(field_flag(Connect.fields[key]) for key in FLAGS), *properties]


def will(given: dict[str, Any], version: Version) -> Will | None:
    """Return the will that the options describe; raises UsageError for a part without the topic."""
    values = {field.key: given[PREFIX + field.key] for field in FIELDS if given[PREFIX + field.key] is not None}
    properties = chosen_properties(WILL, given, version)
    if "topic" in values:
        return Will(**values, properties=properties)
    if values or properties:
        raise _without_topic(given)
    return None


def will_bits(given: dict[str, Any]) -> dict[str, Any]:
    """Return what CONNECT says about its will; raises UsageError when there is none."""
    bits = {key: given[key] for key in FLAGS if given[key] is not None}
    if bits and given["will_topic"] is None:
        raise _without_topic(given)
    return bits


def _without_topic(given: dict[str, Any]) -> click.UsageError:
    keys = [key for key in ("will_payload", *FLAGS, *options_of(WILL)) if given[key] not in (None, ())]
    names = [NAMES.get(key, (dashed(key),))[-1] for key in keys]
    names += ["--property WILL"] * any(each.packet == WILL for each in given.get("property", ()))
    return click.UsageError(f"{' and '.join(names)} need{'s' * (len(names) == 1)} --will-topic")
