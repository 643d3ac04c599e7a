"""The flags of SUBSCRIBE and UNSUBSCRIBE, and the packets they make."""

from collections.abc import Sequence
from typing import Any, TypeVar

import click

from ...spec.declare import Property
from ...spec.packets import Subscribe, Subscription, Unsubscribe
from ...spec.properties import SUBSCRIPTION_IDENTIFIER
from ...spec.versions import Version
from ..flags.base import Flag, FlagValues, flag, ready, together
from ..flags.properties import chosen_properties, named_properties, need_version_5, property_flags
from ..flags.types import QOS, ChoiceByte, NumberType

T = TypeVar("T")
RETAIN_HANDLING = NumberType(0, 3, {"always": 0, "new": 1, "never": 2}, wrong="is not 0, 1 or 2 (3 only with --force)")
OF_5 = {
    "no_local": "--no-local",
    "retain_as_published": "--retain-as-published",
    "retain_handling": "--retain-handling",
}
"""Options of a subscription that came with MQTT 5."""


def subscribe_options() -> list[Flag]:
    """Return the flags of the properties of SUBSCRIBE."""
    return property_flags("SUBSCRIBE", alone=True)


subscription_flags = together(
    flag("-t", "--topic", common=True, multiple=True, metavar="FILTER", help="Topic Filter; may be repeated."),
    flag(
        "-q", "--qos", common=True, type=QOS, multiple=True, metavar="0|1|2",
        help="QoS: once for all filters, or once per -t. [default: 0]",
    ),
    flag(
        "-U", "--unsubscribe", multiple=True, metavar="FILTER",
        help="Unsubscribe from a Topic Filter after subscribing; may be repeated.",
    ),
    flag(
        "-nl", "--no-local", aliases=("--no_local", "--noLocal"), is_flag=False, flag_value="1", multiple=True,
        type=ChoiceByte(), metavar="[0|1]",
        help="No messages that this client published (since MQTT 5); once for all filters, or once for each -t.",
    ),
    flag(
        "-rap", "--retain-as-published", aliases=("--retainAsPublished",), is_flag=False, flag_value="1",
        multiple=True, type=ChoiceByte(), metavar="[0|1]",
        help="Keep the RETAIN flag of the publisher (since MQTT 5); once for all filters, or once for each -t.",
    ),
    flag(
        "-rh", "--retain-handling", aliases=("--retainHandling",), type=RETAIN_HANDLING, multiple=True,
        metavar="always|new|never",
        help="When to send retained messages (0, 1, 2 since MQTT 5); once for all filters, or once for each -t.",
    ),
    group="Subscription",
)  # fmt: skip
subscribe_property_flags = together(ready(subscribe_options()), group="SUBSCRIBE properties")


def subscribe_packets(given: FlagValues, version: Version) -> tuple[Subscribe, ...]:
    """Return a SUBSCRIBE for each Subscription Identifier, or one; none without a Topic Filter. Raises UsageError."""
    filters: tuple[str, ...] = given["topic"]
    if not filters:
        return ()
    for key, name in OF_5.items():
        if given[key]:
            need_version_5(name, version)
    qos = _each("--qos", given["qos"], filters, 0)
    no_local = _each("--no-local", given["no_local"], filters, 0)
    as_published = _each("--retain-as-published", given["retain_as_published"], filters, 0)
    handling = _each("--retain-handling", given["retain_handling"], filters, 0)
    identifiers = _each("--subscription-identifier", given["subscription_identifier"], filters, None)
    shared = chosen_properties("SUBSCRIBE", {**given, "subscription_identifier": ()}, version, alone=True)
    if any(each is not None for each in identifiers):
        need_version_5("--subscription-identifier", version)
    groups: dict[Any, list[Subscription]] = {}
    for at, filter in enumerate(filters):
        groups.setdefault(identifiers[at], []).append(
            Subscription(
                filter=filter, qos=qos[at], no_local=bool(no_local[at]), retain_as_published=bool(as_published[at]),
                retain_handling=handling[at],
            )
        )  # fmt: skip
    return tuple(
        Subscribe(packet_id=number, subscriptions=tuple(some), properties=(*_identifier(identifier), *shared))
        for number, (identifier, some) in enumerate(groups.items(), 1)
    )


def _identifier(value: int | None) -> tuple[Property, ...]:
    return () if value is None else (Property(SUBSCRIPTION_IDENTIFIER.id, value),)


def _each(name: str, values: Sequence[T], filters: Sequence[str], default: T) -> list[T]:
    """Return a value for each filter: one that was given for all, or as many as there are filters."""
    if len(values) > 1 and len(values) != len(filters):
        raise click.UsageError(
            f"{name} is given {len(values)} times for {len(filters)} Topic Filters: give it once, or once for each -t"
        )
    return list(values) if len(values) == len(filters) else [values[0] if values else default] * len(filters)


def unsubscribe_packets(given: FlagValues, version: Version, packet_id: int) -> tuple[Unsubscribe, ...]:
    """Return the UNSUBSCRIBE that the flags ask for; raises UsageError."""
    filters: tuple[str, ...] = given["unsubscribe"]
    if not filters:
        return ()
    properties = tuple(named_properties("UNSUBSCRIBE", given, version))
    return (Unsubscribe(packet_id=packet_id, filters=filters, properties=properties),)
