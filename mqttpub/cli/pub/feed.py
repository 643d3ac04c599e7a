"""The source of a Publisher for a request, with its outbox if there is one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, count, islice
from typing import TYPE_CHECKING, NamedTuple

import click

from ...common.standard_input import STANDARD_INPUT_NAME, standard_input
from ...live.net.target import Target
from ...live.publish.publisher import BATCH
from ...live.publish.sender import Publication
from ...live.publish.sources import Batched, Limited, Listed, MessageSource, Rate, Repeated, Streamed
from ...spec.declare import Property
from ...spec.properties import SESSION_EXPIRY_INTERVAL
from ...spec.versions import Version
from .report import RunReport
from .request import PublishRequest

if TYPE_CHECKING:
    from ...live.publish.outbox import Outbox
    from ..templates import CsvStream, PublishTemplate
    from .messages import LineFormat, Pieces

SESSION_EXPIRY = SESSION_EXPIRY_INTERVAL.id
KEPT_SESSION_S = 86_400
"""Session Expiry Interval of a run that may continue later."""


class Feed(NamedTuple):
    """What a Publisher needs for a request."""

    target: Target
    source: MessageSource
    outbox: "Outbox | None" = None


def feed(request: PublishRequest, target: Target, report: RunReport, stack: ExitStack) -> Feed:
    """Return source, outbox and target for a request; raises UsageError."""
    bulk = request.bulk
    outbox = None
    if bulk.outbox is not None:
        from .kept import OutboxRequest, opened

        wanted = OutboxRequest(
            bulk.outbox, wait_s=request.timeout_s, renews=bulk.resend_doubtful, json=request.shown.json,
            is_client_id_chosen=request.is_client_id_chosen,
        )  # fmt: skip
        outbox, target = opened(wanted, target, report, stack)
        if any(not packet.qos for packet in request.packets) and bulk.kind != "jsonl":
            report.warn("--outbox keeps a QoS 0 message only until it is sent, because nothing acknowledges it")
    if outbox or bulk.reconnects != 0:
        target = lasting(target, clean=not outbox)
        if outbox and not outbox.may_resume:
            target = target.changed(clean_start=True)
    if bulk.kind:
        source = _stream(request, target, report, outbox, stack)
    else:
        source = _messages(request, target, report, outbox)
    return Feed(target, _limited(source, bulk.rate), outbox)


def _limited(source: MessageSource, rate: float | None) -> MessageSource:
    return source if rate is None else Limited(source, Rate(rate))


def _messages(
    request: PublishRequest, target: Target, report: RunReport, outbox: "Outbox | None"
) -> MessageSource:  # fmt: skip
    bulk = request.bulk
    make_round = _rounds(request, target, report)
    if outbox is not None:
        every = chain.from_iterable(make_round() for _ in range(bulk.repeat))
        while some := list(islice(every, BATCH)):
            outbox.add(some)
        return Listed(_earlier(outbox, target.version))
    return Repeated(make_round, bulk.repeat, bulk.delay_s)


def _rounds(request: PublishRequest, target: Target, report: RunReport) -> Callable[[], Sequence[Publication]]:
    """Return what makes the messages of each repeat."""
    # Where only the outbox is sent, nothing is a template.
    if request.bulk.template and request.packets:
        from .messages import Rounds

        return Rounds(_line_format(request, target, report), report.bad_line, _templates(request, target, report))
    messages, numbers = [Publication.of(packet, target.version) for packet in request.packets], count(1)
    return lambda: [message._replace(token=next(numbers)) for message in messages]


def _stream(
    request: PublishRequest, target: Target, report: RunReport, outbox: "Outbox | None", stack: ExitStack
) -> MessageSource:  # fmt: skip
    from .messages import Lines

    csv = _csv(request, stack)
    parse = _parse(request, target, report, csv)
    earlier = _earlier(outbox, target.version) if outbox is not None else iter(())
    # Nobody needs the outcome of each message, so they can be written at once.
    in_batches = not (request.shown.json or request.shown.inspect or request.bulk.rate or outbox is not None)
    descriptor = csv.descriptor if csv else standard_input().fileno()
    try:
        if in_batches and isinstance(parse, Lines) and request.packets[0].qos == 0:
            return Batched(descriptor, parse.batch)
        return Streamed(descriptor, parse, outbox=outbox, earlier=earlier, start=csv.start if csv else 0)
    except OSError as error:
        name = csv.name if csv else STANDARD_INPUT_NAME
        raise click.UsageError(f"{name} cannot be read: {error.strerror}") from None


def _csv(request: PublishRequest, stack: ExitStack) -> "CsvStream | None":
    template = request.bulk.template
    if not (template and template.csv):
        return None
    from ..templates import csv_stream

    return csv_stream(template.csv, stack)


def _parse(request: PublishRequest, target: Target, report: RunReport, csv: "CsvStream | None") -> "Pieces":
    """Return the function that makes messages of the input."""
    from .messages import Lines, Objects, Pieces, Rows

    line_format = _line_format(request, target, report)
    if csv:
        (template,) = _templates(request, target, report, csv.rows.columns)
        return Rows(line_format._replace(name=csv.name), report.bad_line, template, csv.rows)
    if request.bulk.kind == "jsonl":
        return Objects(line_format, report.bad_line)
    if request.bulk.template:
        (template,) = _templates(request, target, report)
        return Pieces(line_format._replace(template=template), report.bad_line)
    return (Pieces if line_format.convert else Lines)(line_format, report.bad_line)


def _line_format(request: PublishRequest, target: Target, report: RunReport) -> "LineFormat":
    from .messages import LineFormat

    return LineFormat(
        packet=request.packets[0], version=target.version, delimiter=request.bulk.delimiter, convert=request.convert,
        force=request.force, warn=report.warn, needs_ack=request.bulk.require_subscribers,
    )  # fmt: skip


def _templates(
    request: PublishRequest, target: Target, report: RunReport, columns: Sequence[str] | None = None
) -> "list[PublishTemplate]":  # fmt: skip
    """Return the messages of a request as templates; raises UsageError for what can be known to be wrong."""
    from ..templates import PublishTemplate, values_of

    asked = request.bulk.template
    assert asked
    values = values_of(target, asked.seed, columns)
    templates = [PublishTemplate(packet, values, asked.payload_flag) for packet in request.packets]
    convert = None if request.bulk.kind else request.convert
    for template in templates:
        template.check(target.version, convert, force=request.force, warn=report.warn)
    return templates


def _earlier(outbox: "Outbox", version: Version) -> Iterator[Publication]:
    """Return the messages that an outbox keeps and that no run has begun to send."""
    kept = outbox.kept(version, begun=False)
    return (Publication.of(each.packet.replace(packet_id=None), version, each.number) for each in kept)


def lasting(target: Target, *, clean: bool) -> Target:
    """Return the target with a session that outlives the connection."""
    if target.version < Version.V5:
        return target.changed(clean_start=False)
    properties = target.connect.properties
    if not any(id == SESSION_EXPIRY for id, _ in properties):
        properties = (Property(SESSION_EXPIRY, KEPT_SESSION_S), *properties)
    return target.changed(properties=properties, clean_start=target.connect.clean_start and clean)
