"""`mqttpub request`: its flags, and the request that they make."""

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

import click

from ...spec.declare import Packet, Property
from ...spec.packets import Publish, Subscribe, Subscription
from ...spec.properties import REQUEST_RESPONSE_INFORMATION, RESPONSE_TOPIC, value_of
from ...spec.versions import Version
from ..flags.base import Flag, FlagValues, flag, ready, together
from ..flags.client import ClientCommand
from ..flags.connect import connection_target, profile_flags, session_flags
from ..flags.connection import output_flags
from ..flags.payload import (
    answer_format_flag,
    chosen_format,
    format_flags,
    formatted_payload,
    payload,
    payload_options,
    template_flags,
    template_request,
)
from ..flags.properties import chosen_properties, property_flags
from ..flags.types import MOST, OCTETS, WORD, FiniteRange, NumberType
from ..sub.flags import FORMAT, JSON, LINES, RAW, VERBOSE, OutputForm

if TYPE_CHECKING:
    from ...live.net.target import Target
    from ...live.request.requester import AskOptions
    from ..request.request import AskRequest

OWN = ("response_topic", "correlation_data", "topic_alias", "subscription_identifier")
"""Properties of a request that have flags of their own here, or that no request can have."""
EXPIRY_LETTER = "-e"
"""The letter of --message-expiry-interval elsewhere; here -e is the topic of the answers, as in mosquitto_rr."""
QOS_NUMBER = NumberType(0, 2, wrong="is not a QoS: 0, 1 or 2")

message_flags = together(
    flag("-t", "--topic", common=True, metavar="TOPIC", help="Topic Name of the request."),
    ready(payload_options()),
    flag(
        "-q", "--qos", common=True, type=QOS_NUMBER, default=1, show_default=True, metavar="0|1|2",
        help="QoS of the request and, at most, of its answers.",
    ),
    flag("-r", "--retain", is_flag=True, help="Ask the broker to keep the request for new subscribers."),
    group="Request",
)  # fmt: skip
answer_flags = together(
    flag(
        "-e", "--response-topic", aliases=("-rt", "--responseTopic"), common=True, type=WORD, metavar="TOPIC",
        help="Topic of the answers; needed before MQTT 5. [default: one that nobody else uses]",
    ),
    flag(
        "-cd", "--correlation-data", aliases=("--correlationData",), type=OCTETS, metavar="VALUE",
        help="Correlation Data, which the answers repeat (0x09, since MQTT 5). [default: 16 random bytes]",
    ),
    flag("--any-answer", is_flag=True, help="Take answers whatever their Correlation Data."),
    flag(
        "-C", "--count", "answer_count", common=True, type=NumberType(1, MOST), default=1, show_default=True,
        metavar="N", help="Wait for N answers.",
    ),
    flag(
        "-W", "--wait", common=True, type=FiniteRange(min=0, min_open=True), metavar="SECONDS",
        help="Wait this long for the answers. [default: as --timeout]",
    ),
    flag("--repeat", type=NumberType(1, MOST), default=1, metavar="N", help="Ask N times, with data of their own."),
    flag(
        "--parallel", type=NumberType(1, 1000), default=1, show_default=True, metavar="N",
        help="Requests of --repeat that wait for answers at once.",
    ),
    flag("-v", "--show-topic", is_flag=True, help="Write the topic before each answer."),
    flag(
        "-F", "--output-format", metavar="FORMAT",
        help="Write each answer by a format, such as '%I %t %p'; see `mqttpub help sub`.",
    ),
    flag("--raw", is_flag=True, help="Write exactly the bytes of the answers."),
    answer_format_flag(),
    flag("-N", "--no-newline", is_flag=True, help="Write nothing after an answer."),
    group="Answers",
)  # fmt: skip


def _property_flags() -> list[Flag]:
    """Return the flags of the other properties of a request."""
    flags = [each for each in property_flags("PUBLISH") if each.name not in OWN]
    for each in flags:
        each.opts = [name for name in each.opts if name != EXPIRY_LETTER]
    return flags


@click.command(
    name="request",
    cls=ClientCommand,
    examples=(
        "mqttpub request -t rooms/7/get -m temperature",
        "mqttpub request -t rooms/all/get -m temperature -C 5 -W 2 -v",
        "mqttpub request -t echo -m x --repeat 1000 --json | tail -1",
    ),
)
@message_flags
@answer_flags
@together(format_flags, template_flags, group="Request")
@together(ready(_property_flags()), group="PUBLISH properties")
@session_flags
@output_flags
@flag("--force", is_flag=True, help="Send even what the specification forbids.")
@profile_flags
def command(**given: Any) -> int:
    """Publish a request and wait for its answer.

    Exit status: 0 if the answers came, 1 if not in time; see `mqttpub help exit-status`.
    """
    from ..request.run import ask

    return ask(ask_request(given))


def ask_request(given: FlagValues) -> "AskRequest":
    """Return the request that the flags make; raises UsageError."""
    from ...live.request.requester import AskOptions
    from ..observe.gate import admit
    from ..observe.shown import shown
    from ..request.request import AskRequest

    target = connection_target(given)
    _check(given, target.version)
    options = AskOptions(
        timeout_s=given["timeout"], wait_s=given["wait"] or given["timeout"], answers=given["answer_count"],
        rounds=given["repeat"], window=given["parallel"], response_topic=given["response_topic"] or "",
        correlation=given["correlation_data"], answer_qos=given["qos"], matches=not given["any_answer"],
        force=given["force"],
    )  # fmt: skip
    packet = _packet(given, target.version)
    packets, rounds = _packets(given, target, packet)
    options = options._replace(rounds=rounds)
    sent = _sent(packet, target.version, options)
    admit(target, sent[1:] if packets else sent, force=given["force"], ends_session=True)
    written = _output_form(given)
    return AskRequest(
        target=target, packet=packet, packets=packets, options=options,
        asks_response_information=bool(value_of(target.connect.properties, REQUEST_RESPONSE_INFORMATION, 0)),
        written=written, shown=shown(given, json=written.kind == JSON),
    )  # fmt: skip


def _sent(packet: Publish, version: Version, options: "AskOptions") -> tuple[Packet, ...]:
    """Return the packets of a run, with a topic for the answers where the broker or the program chooses one."""
    topic = options.response_topic or "mqttpub/response"
    if version == Version.V5:
        packet = packet.replace(properties=(*packet.properties, Property(RESPONSE_TOPIC.id, topic)))
    subscription = Subscription(filter=topic, qos=options.answer_qos)
    return packet, Subscribe(packet_id=1, subscriptions=(subscription,))


def _output_form(given: FlagValues) -> OutputForm:
    """Return how answers are written; raises UsageError."""
    from ...payload.formats import payload_reader
    from ...payload.library import MissingLibrary

    named = {VERBOSE: "show_topic", FORMAT: "output_format", JSON: "as_json"}
    kinds = [kind for kind, key in named.items() if given[key] not in (None, False)]
    if kinds[1:] or (kinds == [JSON] and given["raw"]):
        raise click.UsageError("only one of -v, -F, --json and --raw at a time")
    kind = kinds[0] if kinds else RAW if given["raw"] else LINES
    name: str = given["answer_format"] or ""
    if name and kind == RAW:
        raise click.UsageError("--raw does not go with --answer-format")
    try:
        reader = payload_reader(name) if name else None
    except MissingLibrary as error:
        raise click.UsageError(str(error)) from None
    return OutputForm(
        kind=kind, delimiter=b"" if given["no_newline"] or kind == RAW else b"\n", payload_format=name, reader=reader,
        format=given["output_format"] or "", raw=given["raw"],
    )  # fmt: skip


def _check(given: FlagValues, version: Version) -> None:
    """Raise UsageError for flags that contradict each other."""
    if not given["topic"]:
        raise click.UsageError("no topic: give -t, or a URL with one")
    if version < Version.V5 and not given["response_topic"]:
        raise click.UsageError(f"-e is needed: MQTT {version.label} cannot tell the other side where answers go")
    if version < Version.V5 and given["correlation_data"] is not None:
        raise click.UsageError(f"--correlation-data needs MQTT 5, but the version is {version.label}")
    matches = version == Version.V5 and not given["any_answer"]
    if given["parallel"] > 1 and not matches:
        raise click.UsageError("--parallel needs Correlation Data, which shows which request is answered")
    if given["repeat"] > 1 and given["correlation_data"] is not None:
        raise click.UsageError("--repeat needs Correlation Data of its own for each request")


def _packet(given: FlagValues, version: Version) -> Publish:
    flags = {**given, **dict.fromkeys(OWN)}
    data = payload(given) if template_request(given) else formatted_payload(given)
    return Publish(
        topic=given["topic"], payload=data, qos=given["qos"], retain=given["retain"],
        properties=chosen_properties("PUBLISH", flags, version),
    )  # fmt: skip


def _packets(given: FlagValues, target: "Target", packet: Publish) -> tuple[Iterator[Publish] | None, int]:
    """Return the requests that a template makes, None for equal ones, and their number; raises UsageError."""
    asked, rounds = template_request(given), given["repeat"]
    if asked is None:
        return None, rounds
    from ..observe.gate import judge
    from ..templates import CsvFile, PublishTemplate, filled, values_of

    csv = CsvFile(asked.csv) if asked.csv else None
    if csv and rounds != 1:
        raise click.UsageError("--repeat does not go with --csv, whose rows are the requests")
    values = values_of(target, asked.seed, csv.columns if csv else None)
    template, convert = PublishTemplate(packet, values, asked.payload_flag), chosen_format(given)
    template.check(target.version, convert, force=given["force"])
    rows = csv.rows() if csv else repeat((), rounds)
    made = filled(template, rows, convert, lambda each: judge(each, target.version, force=given["force"]))
    return (each.replace(payload=data) for each, data in made), csv.count if csv else rounds
