"""`mqttpub sub`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ...spec.declare import Packet, Property
from ...spec.packets import Puback, Pubrec
from ...spec.properties import RECEIVE_MAXIMUM
from ..flags.base import FULL_FLAG, SECRETS_FLAG, FlagValues, flag, ready, together
from ..flags.client import ClientCommand
from ..flags.connect import broker_flags, connect_flags, connection_target, profile_flags
from ..flags.connection import CAPTURE_FLAGS, LINT_FLAG, QUIET_FLAG
from ..flags.properties import need_version_5
from ..flags.properties_argument import property_argument
from ..sub.flags import JSON, answer_flags, output_form, selected, selection_flags, subscribe_options, writing_flags
from ..sub.subscription import (
    subscribe_packets,
    subscribe_property_flags,
    subscription_flags,
    unsubscribe_packets,
)

if TYPE_CHECKING:
    from ...live.net.target import Target
    from ...live.subscribe.subscriber import SubscribeOptions
    from ..sub.request import ReceiveRequest

PACKETS = ("CONNECT", "WILL", "SUBSCRIBE", "UNSUBSCRIBE", "DISCONNECT")
"""Packets that --property can set properties of."""

inspect_flags = together(
    flag(
        "-d", "--inspect", aliases=("--debug",), is_flag=True, common=True,
        help="Show every byte sent and received.",
    ),
    LINT_FLAG, SECRETS_FLAG, FULL_FLAG, QUIET_FLAG, *CAPTURE_FLAGS,
    group="Output",
)  # fmt: skip


@click.command(
    name="sub",
    cls=ClientCommand,
    examples=(
        "mqttpub sub -t 'sensors/#' -v",
        "mqttpub sub -h broker.example.org -t 'plant/+/state' -q 1 -C 1 --json",
        "mqttpub sub -t 'a/#' -q 2 -rap --json | mqttpub pub -h other.example.org --jsonl",
    ),
)
@subscription_flags
@selection_flags
@writing_flags
@inspect_flags
@subscribe_property_flags
@answer_flags
@broker_flags
@connect_flags
@together(ready([property_argument(PACKETS)]), group="Any property")
@flag("--force", is_flag=True, help="Send even what the specification forbids.")
@profile_flags
def command(**given: Any) -> int:
    """Subscribe to Topic Filters and write the messages that arrive.

    Exit status: 0 when it ended as asked, 5 if the broker refused a Topic Filter; see `mqttpub help exit-status`.
    """
    from ..sub.run import subscribe

    return subscribe(receive_request(given))


def receive_request(given: FlagValues) -> "ReceiveRequest":
    """Return the request that the flags make; raises UsageError."""
    from ..observe.gate import admit
    from ..observe.shown import shown
    from ..sub.request import ReceiveRequest

    target = _target(given)
    subscribes = subscribe_packets(given, target.version)
    unsubscribes = unsubscribe_packets(given, target.version, len(subscribes) + 1)
    if not (subscribes or unsubscribes):
        raise click.UsageError("no topic: give a Topic Filter with -t, or a URL with one")
    options = subscribe_options(given)
    admit(target, (*subscribes, *unsubscribes, *_answers(options)), force=given["force"])
    written = output_form(given)
    return ReceiveRequest(
        subscribes=subscribes, unsubscribes=unsubscribes, target=target, options=options,
        selected=selected(given), written=written,
        shown=shown(given, json=written.kind == JSON),
    )  # fmt: skip


def _answers(options: "SubscribeOptions") -> tuple[Packet, ...]:
    """Return acknowledgements with the Reason Code of the options, if they have one."""
    code = options.answering.reason_code
    return () if code is None else (Puback(packet_id=1, reason_code=code), Pubrec(packet_id=1, reason_code=code))


def _target(given: FlagValues) -> "Target":
    """Return where to connect, with the Receive Maximum of --max-inflight."""
    target = connection_target(given)
    most = given["max_inflight"]
    if most is None:
        return target
    if given["receive_maximum"] is not None:
        raise click.UsageError("--max-inflight is the Receive Maximum, so only one of the two can be given")
    need_version_5("--max-inflight", target.version)
    return target.changed(properties=(Property(RECEIVE_MAXIMUM.id, most), *target.connect.properties))
