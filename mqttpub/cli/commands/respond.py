"""`mqttpub respond`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ...live.net.target import Target
from ...spec.declare import Property
from ...spec.packets import Publish, Subscribe, Subscription
from ...spec.properties import RECEIVE_MAXIMUM, value_of
from ...spec.versions import Version
from ..flags.base import FlagValues, flag, ready, together
from ..flags.client import ClientCommand
from ..flags.connect import connection_target, profile_flags, session_flags
from ..flags.connection import output_flags, reconnect_flag, reconnects_of
from ..flags.payload import SizeType
from ..flags.properties import chosen_properties, property_flags
from ..flags.properties_argument import JOINT
from ..flags.types import MOST, TOPIC_FILTER, WORD, FiniteRange, NumberType

if TYPE_CHECKING:
    from ..respond.request import RespondRequest

OWN = ("response_topic", "correlation_data", "topic_alias", "subscription_identifier")
"""Properties of an answer that come from the request, or that no answer can have."""
UNACKNOWLEDGED = 500
"""Receive Maximum where no flag gives one: so many requests of QoS 1 and 2 wait for a command here, others there."""
QOS_NUMBER = NumberType(0, 2, wrong="is not a QoS: 0, 1 or 2")

request_flags = together(
    flag(
        "-t", "--topic", common=True, multiple=True, type=WORD, metavar="FILTER",
        help="Topic Filter of the requests; may be repeated.",
    ),
    flag(
        "-q", "--qos", common=True, type=QOS_NUMBER, default=1, show_default=True, metavar="0|1|2",
        help="Highest QoS of the requests.",
    ),
    flag("-C", "--count", common=True, type=NumberType(1, MOST), metavar="N", help="End after N requests."),
    flag(
        "-W", "--duration", common=True, type=FiniteRange(min=0, min_open=True), metavar="SECONDS",
        help="End after this long.",
    ),
    group="Requests",
)  # fmt: skip
command_flags = together(
    flag("--shell", is_flag=True, common=True, help="The command is one line for the shell."),
    flag(
        "--parallel", common=True, type=NumberType(1, 1000), default=1, show_default=True, metavar="N",
        help="Commands that may run at once.",
    ),
    flag(
        "--time-limit", common=True, type=FiniteRange(min=0, min_open=True), default=30.0, show_default=True,
        metavar="SECONDS", help="End a command after this long; its request gets no answer.",
    ),
    flag(
        "--output-limit", type=SizeType(), default="16M", show_default=True, metavar="SIZE",
        help="End a command that prints more.",
    ),
    group="Command",
)  # fmt: skip
answer_flags = together(
    flag(
        "--answer-qos", type=QOS_NUMBER, default=1, show_default=True, metavar="0|1|2",
        help="Highest QoS of an answer; it has that of its request otherwise.",
    ),
    flag(
        "--answer-topic", type=WORD, metavar="TOPIC",
        help="Where answers to requests without a Response Topic go, such as all before MQTT 5.",
    ),
    flag(
        "--allow", multiple=True, type=TOPIC_FILTER, metavar="FILTER",
        help="Answer only to Response Topics that match this filter. [default: all that do not begin with $]",
    ),
    flag("--answer-failures", is_flag=True, help="Publish what a command printed even if it failed."),
    reconnect_flag("Connect again after a loss, N times or without end. [default: never]"),
    group="Answers",
)  # fmt: skip
property_options = together(
    ready([each for each in property_flags("PUBLISH") if each.name not in OWN]), group="Properties of the answers"
)


class CommandOfWords(ClientCommand):
    """A command whose arguments are the words of another command; what follows the first is not ours."""

    allow_interspersed_args = False


@click.command(
    name="respond",
    cls=CommandOfWords,
    examples=(
        "mqttpub respond -t upper -- tr a-z A-Z",
        'mqttpub respond -t "rooms/+/get" --parallel 4 -- ./read-sensor.py',
        "mqttpub respond -t time --shell 'date -u +%FT%TZ'",
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
@request_flags
@command_flags
@answer_flags
@property_options
@session_flags
@flag("--show-requests", is_flag=True, help="Print a line for each request that is answered.")
@output_flags
@flag("--force", is_flag=True, help="Send even what the specification forbids.")
@profile_flags
def command(**given: Any) -> int:
    """Answer requests with the output of a command.

    The command gets the payload on its standard input, topic and properties in variables that begin with MQTT_.
    """
    from ..respond.run import respond

    return respond(respond_request(given))


def respond_request(given: FlagValues) -> "RespondRequest":
    """Return the request that the flags make; raises UsageError."""
    from ..observe.gate import admit
    from ..observe.shown import shown
    from ..respond.request import RespondRequest

    if not given["topic"]:
        raise click.UsageError("no topic: give a Topic Filter with -t, or a URL with one")
    target = _bounded(connection_target(given))
    subscribe = _subscribe(given)
    admit(target, [subscribe], force=given["force"], ends_session=True)
    return RespondRequest(
        target=target, timeout_s=given["timeout"], subscribe=subscribe, command=_command(given),
        answer=_answer(given, target.version), fallback_topic=_fallback(given), allowed=given["allow"],
        parallel=given["parallel"], answers_failures=given["answer_failures"], most_requests=given["count"],
        duration_s=given["duration"], reconnects=reconnects_of(given),
        shown=shown(given), verbose=given["show_requests"],
    )  # fmt: skip


def _bounded(target: Target) -> Target:
    """Return the target with a Receive Maximum, so that the broker keeps the requests that have to wait."""
    properties = target.connect.properties
    if target.version < Version.V5 or value_of(properties, RECEIVE_MAXIMUM) is not None:
        return target
    return target.changed(properties=(*properties, Property(RECEIVE_MAXIMUM.id, UNACKNOWLEDGED)))


def _subscribe(given: FlagValues) -> Subscribe:
    is_new = given["mqtt_version"] == Version.V5
    subscriptions = tuple(
        Subscription(
            filter=filter, qos=given["qos"], retain_handling=2 if is_new else 0,
            no_local=is_new and not filter.startswith("$share/"),
        )
        for filter in given["topic"]
    )  # fmt: skip
    return Subscribe(packet_id=1, subscriptions=subscriptions)


def _command(given: FlagValues) -> Any:
    from shutil import which

    from ...payload.formats import payload_size
    from ..respond.request import CommandLine

    words = tuple(word for each in given["words"] for word in each.split(JOINT))
    if given["shell"] and words[1:]:
        raise click.UsageError("--shell takes one line: quote it")
    if not given["shell"] and which(words[0]) is None:
        raise click.UsageError(f"there is no program '{words[0]}'")
    return CommandLine(words, given["shell"], given["time_limit"], payload_size(given["output_limit"]))


def _answer(given: FlagValues, version: Version) -> Publish:
    flags = {**dict.fromkeys(OWN), **given}
    return Publish(topic="", qos=given["answer_qos"], properties=chosen_properties("PUBLISH", flags, version))


def _fallback(given: FlagValues) -> str:
    topic: str = given["answer_topic"] or ""
    if "+" in topic or "#" in topic:
        raise click.BadParameter("must not hold wildcards", param_hint="--answer-topic")
    if topic and any(_matches(each, topic) for each in given["topic"]):
        raise click.BadParameter("each answer would be another request", param_hint="--answer-topic")
    return topic


def _matches(filter: str, topic: str) -> bool:
    from ...traffic.topics import topic_matches

    levels = filter.split("/")
    return topic_matches(levels[2:] if levels[0] == "$share" else levels, topic.split("/"))
