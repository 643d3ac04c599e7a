"""`mqttpub pub`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ...spec.packets import Publish
from ...spec.versions import Version
from ..flags.base import FlagValues, flag, ready, together
from ..flags.bulk import DELIMITERS, NEEDS_AN_ANSWER, bulk_flags
from ..flags.client import ClientCommand
from ..flags.connect import connection_target, session_flags
from ..flags.connection import output_flags, reconnects_of
from ..flags.payload import (
    SOURCES,
    chosen_format,
    format_flags,
    formatted_payload,
    payload,
    payload_options,
    template_request,
)
from ..flags.profile import profile_flag
from ..flags.properties import chosen_properties, need_version_5, property_flags
from ..flags.types import AUTO, QOS, U16_NUMBER
from ..flags.unsupported import CONNECTION, PUBLISHING, refused_flags

if TYPE_CHECKING:
    from ..pub.request import BulkRequest, PublishRequest

KINDS = {"lines": "lines", "nul": "lines", "jsonl": "jsonl", "csv": "csv"}
"""What the input holds, by the parameter that says so."""

message_flags = together(
    flag("-t", "--topic", common=True, multiple=True, metavar="TOPIC", help="Topic Name; may be repeated."),
    ready(payload_options()),
    flag(
        "-q", "--qos", common=True, type=QOS, default=0, show_default=True, metavar="0|1|2",
        help="QoS: at most, at least or exactly once.",
    ),
    flag("-r", "--retain", common=True, is_flag=True, help="Ask the broker to keep the message for new subscribers."),
    flag("--dup", is_flag=True, help="Set DUP, which marks a re-delivery."),
    flag(
        "--packet-id", type=U16_NUMBER, metavar="ID",
        help="Packet Identifier, such as 25674 or 0x644a. [default: 1]",
    ),
    group="Message",
)  # fmt: skip

property_options = together(ready(property_flags("PUBLISH")), group="PUBLISH properties")


run_flags = together(
    flag("--embedded", is_flag=True, common=True, help="Start the built-in broker on loopback for this run."),
    flag("--force", is_flag=True, help="Send even what the specification forbids."),
    profile_flag,
)


@click.command(
    name="pub",
    cls=ClientCommand,
    examples=(
        "mqttpub pub -t sensors/7 -q 1 -m 21.5 --inspect",
        "mqttpub pub -L mqtts://me@broker.example.org/sensors/7 --ask-password -m 21.5",
        "seq 100 | mqttpub pub -h broker.example.org -t numbers -q 1 -l --rate 10",
    ),
)
@message_flags
@together(format_flags, group="Message")
@property_options
@bulk_flags
@session_flags
@output_flags
@run_flags
@refused_flags(CONNECTION, PUBLISHING)
def command(**given: Any) -> int:
    """Publish a message and see that it arrived.
    Exit status: 0 if the broker accepted it; see `mqttpub help exit-status`.
    """
    from ..pub.run import publish

    return publish(publish_request(given))


def publish_request(given: FlagValues) -> "PublishRequest":
    """Return the request that the flags make; raises UsageError."""
    from ..observe.gate import admit
    from ..observe.shown import shown
    from ..pub.request import PublishRequest

    target = connection_target(given)
    bulk = _bulk(given)
    packets = _packets(given, target.version, bulk)
    admit(
        target, packets if bulk.kind != "jsonl" and not bulk.template else (), force=given["force"],
        ends_session=bulk.reconnects == 0 and not bulk.outbox,
    )  # fmt: skip
    # A payload that flags give is converted by now, and its schema need not be read again.
    convert = chosen_format(given) if bulk.kind or bulk.template or not packets else None
    if convert and bulk.kind == "jsonl":
        raise click.UsageError("a line of --jsonl names the form of its payload, so no format can be given for all")
    if bulk.require_subscribers:
        need_version_5("--require-subscribers", target.version)
        # Each line of JSON names its QoS, which is checked when the line is read.
        if bulk.kind != "jsonl" and any(not packet.qos for packet in packets):
            raise click.UsageError(f"--require-subscribers {NEEDS_AN_ANSWER}")
    return PublishRequest(
        packets=packets, target=target, timeout_s=given["timeout"], bulk=bulk, convert=convert,
        is_client_id_chosen=given["client_id"] is not None, embedded=given["embedded"], force=given["force"],
        shown=shown(given),
    )  # fmt: skip


def _packets(given: FlagValues, version: Version, bulk: "BulkRequest") -> tuple[Publish, ...]:
    """Return a PUBLISH for each topic; none where only the outbox is to be sent."""
    named = given["topic"] or given["payload_size"] or any(given[key] for key in SOURCES)
    if bulk.outbox and not bulk.kind and not named:
        return ()
    topics = _topics(given, bulk)
    if given["packet_id"] is not None:
        _check_packet_id(given["qos"], topics, bulk)
    packet = Publish(
        topic=topics[0], payload=_payload(given, bulk), qos=given["qos"],
        retain=given["retain"], dup=given["dup"], packet_id=given["packet_id"],
        properties=chosen_properties("PUBLISH", given, version),
    )  # fmt: skip
    return tuple(packet.replace(topic=topic) for topic in topics)


def _payload(given: FlagValues, bulk: "BulkRequest") -> bytes:
    """Return the payload of the flags; it is converted later where it is a template, and empty where lines have it."""
    if bulk.kind in ("lines", "jsonl"):
        return b""
    return payload(given) if bulk.template else formatted_payload(given)


def _topics(given: FlagValues, bulk: "BulkRequest") -> tuple[str, ...]:
    """Return the topics to publish to; raises UsageError where there is none."""
    topics: tuple[str, ...] = given["topic"] or (("",) if bulk.kind == "jsonl" else ())
    if not topics:
        raise click.UsageError("no topic: give -t, or a URL with one")
    if topics[1:] and bulk.kind:
        raise click.UsageError(f"messages from standard input or --csv go to one topic, but {len(topics)} were given")
    return topics


def _check_packet_id(qos: int, topics: tuple[str, ...], bulk: "BulkRequest") -> None:
    """Raise BadParameter where the Packet Identifier would be for no message, or for several."""
    wrong = ""
    if not qos:
        wrong = "only QoS 1 and 2 have a Packet Identifier"
    elif topics[1:]:
        wrong = f"is for one message, but there are {len(topics)} topics"
    elif bulk.kind in ("lines", "csv"):
        wrong = "is for one message, but each line or row is one"
    elif bulk.outbox:
        wrong = "does not go with --outbox"
    if wrong:
        raise click.BadParameter(wrong, param_hint="--packet-id")


def _bulk(given: FlagValues) -> "BulkRequest":
    """Return the request that the flags make; raises UsageError for flags that contradict each other."""
    from ..pub.request import BulkRequest

    kinds = [kind for key, kind in KINDS.items() if given[key]]
    if kinds[1:]:
        raise click.UsageError("only one of -l, -0, --jsonl and --csv at a time")
    template = template_request(given)
    if template and given["jsonl"]:
        raise click.UsageError("--template does not go with --jsonl, whose lines are whole messages")
    if given["delimiter"] is not None and not given["lines"]:
        raise click.UsageError("--delimiter needs -l")
    if kinds and given["repeat"] != 1:
        raise click.UsageError("--repeat is for a message that flags name, not for standard input or --csv")
    if given["outbox"] and given["repeat_delay"]:
        raise click.UsageError("--repeat-delay does not go with --outbox")
    if given["resend_doubtful"] and not given["outbox"]:
        raise click.UsageError("--resend-doubtful needs --outbox")
    return BulkRequest(
        kind=kinds[0] if kinds else "", delimiter=_delimiter(given), rate=given["rate"], window=given["max_inflight"],
        repeat=given["repeat"], delay_s=given["repeat_delay"], outbox=given["outbox"],
        resend_doubtful=given["resend_doubtful"],
        reconnects=reconnects_of(given),
        aliases=given["topic_alias"] == AUTO, require_subscribers=given["require_subscribers"],
        template=template,
    )  # fmt: skip


def _delimiter(given: FlagValues) -> bytes:
    if given["nul"]:
        return b"\0"
    text: str | None = given["delimiter"]
    if text is None:
        return b"\n"
    if not text:
        raise click.BadParameter("is empty", param_hint="--delimiter")
    return DELIMITERS.get(text.lower(), text.encode("utf-8", "surrogateescape"))
