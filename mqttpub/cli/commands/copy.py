"""`mqttpub copy`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ...live.net.target import Target
from ...spec.declare import Property
from ...spec.packets import Subscribe, Subscription
from ...spec.properties import RECEIVE_MAXIMUM, value_of
from ...spec.versions import Version
from ..flags.base import FlagValues, flag, together
from ..flags.client import ClientCommand
from ..flags.connection import ends_flags, output_flags, reconnect_flag, reconnects_of
from ..flags.transport import transport_flags
from ..flags.types import MOST, PATH, REWRITE, WORD, FiniteRange, NumberType

if TYPE_CHECKING:
    from ..copy.request import CopyRequest

copy_flags = together(
    flag(
        "-t", "--topic", common=True, multiple=True, type=WORD, metavar="FILTER",
        help="Topic Filter, also $share/NAME/FILTER; may be repeated.",
    ),
    flag(
        "-q", "--qos", common=True, type=NumberType(0, 2, wrong="is not a QoS: 0, 1 or 2"), default=2,
        show_default=True, metavar="0|1|2", help="Highest QoS of a copy; it has that of its message otherwise.",
    ),
    flag(
        "--rewrite-topic", multiple=True, type=REWRITE, metavar="s/../../", common=True,
        help="Rewrite topics as sed does. Repeatable.",
    ),
    flag("-C", "--count", common=True, type=NumberType(1, MOST), metavar="N", help="End after N messages."),
    flag(
        "-W", "--duration", common=True, type=FiniteRange(min=0, min_open=True), metavar="SECONDS",
        help="End after this long.",
    ),
    flag(
        "--hops", type=NumberType(1, 1000), default=1, show_default=True, metavar="N",
        help="Leave out what was copied N times already, as by a copy in the other direction (since MQTT 5).",
    ),
    group="What to copy",
)  # fmt: skip
safety_flags = together(
    flag(
        "--outbox", common=True, type=PATH, metavar="PATH",
        help="Keep in this file what was taken, until it is given.",
    ),
    flag(
        "--resend-doubtful", is_flag=True,
        help="Send again the messages that an earlier run left in doubt in the outbox.",
    ),
    together(reconnect_flag("Connect again after a loss of either end, N times or without end. [default: never]"),
             common=True),
    flag(
        "-M", "--max-inflight", aliases=("--send-max", "--sendMax"), type=NumberType(1, 65535), default=1000,
        show_default=True, metavar="N",
        help="Messages of QoS 1 and 2 that may be under way; the brokers may allow fewer.",
    ),
    group="What may be lost",
)  # fmt: skip


@click.command(
    name="copy",
    cls=ClientCommand,
    examples=(
        "mqttpub copy mqtt://old.example.org mqtt://new.example.org -t 'plant/#'",
        "mqttpub copy mqtt://plant.example.org cloud -t 'plant/#' --outbox plant.outbox --reconnect",
        "mqttpub copy mqtt://localhost mqtt://localhost -t 'plant/#' --rewrite-topic 's/^plant/test/' -W 60",
    ),
)
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@copy_flags
@safety_flags
@ends_flags
@transport_flags
@output_flags
@flag("--force", is_flag=True, help="Send even what the specification forbids.")
def command(**given: Any) -> int:
    """Copy topics from one broker to another, with all properties, QoS and RETAIN.

    FROM and TO are each a URL, such as mqtt://user@host:port, or the name of a profile; flags hold for both. The
    Client Identifiers end in -from and -to.
    """
    from ..copy.run import copy

    return copy(copy_request(given))


def copy_request(given: FlagValues) -> "CopyRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...lab.replay.rewrite import in_turn
    from ..copy.ends import ends
    from ..copy.message import is_same_broker
    from ..copy.request import CopyRequest
    from ..observe.gate import judge
    from ..observe.shown import shown

    if not given["topic"]:
        raise click.UsageError("no topic: give a Topic Filter with -t")
    if given["resend_doubtful"] and not given["outbox"]:
        raise click.UsageError("--resend-doubtful needs --outbox")
    source, target, is_chosen = ends(given)
    lasts = bool(given["outbox"] or reconnects_of(given) != 0)
    request = CopyRequest(
        source=_bounded(source, given["max_inflight"]), target=target, timeout_s=given["timeout"],
        subscribe=_subscribe(given, source.version, lasts=lasts), rewrite=in_turn(given["rewrite_topic"]),
        hops=given["hops"], window=given["max_inflight"], reconnects=reconnects_of(given), outbox=given["outbox"],
        resend_doubtful=given["resend_doubtful"], is_client_id_chosen=is_chosen, most_messages=given["count"],
        duration_s=given["duration"], shown=shown(given),
    )  # fmt: skip
    judge(request.subscribe, source.version, force=given["force"])
    if is_same_broker(request) and not given["rewrite_topic"]:
        raise click.UsageError("FROM and TO are the same broker: --rewrite-topic has to say where the copies go")
    if source.version != target.version and any((given["inspect"], given["lint"], given["capture"])):
        raise click.UsageError("--inspect, --lint and --capture need one version of MQTT at both ends")
    return request


def _bounded(source: Target, most: int) -> Target:
    """Return the source with a Receive Maximum, so that its broker keeps the messages that have to wait."""
    properties = source.connect.properties
    if source.version < Version.V5 or value_of(properties, RECEIVE_MAXIMUM) is not None:
        return source
    return source.changed(properties=(*properties, Property(RECEIVE_MAXIMUM.id, most)))


def _subscribe(given: FlagValues, version: Version, *, lasts: bool) -> Subscribe:
    is_new = version >= Version.V5
    subscriptions = tuple(
        Subscription(
            filter=filter, qos=given["qos"], retain_as_published=is_new,
            # A session that lasts gets retained messages once, however often it is taken up again.
            retain_handling=1 if is_new and lasts else 0,
        )
        for filter in given["topic"]
    )  # fmt: skip
    return Subscribe(packet_id=1, subscriptions=subscriptions)
