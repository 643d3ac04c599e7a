"""The source of a Publisher for a request, with its outbox if there is one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, NamedTuple

import click

from ...common.standard_input import standard_input
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
    from .lines import Template
    from .messages import Pieces

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
    source = _stream(request, target, report, outbox) if bulk.kind else _messages(request, target, outbox)
    return Feed(target, _limited(source, bulk.rate), outbox)


def _limited(source: MessageSource, rate: float | None) -> MessageSource:
    return source if rate is None else Limited(source, Rate(rate))


def _messages(request: PublishRequest, target: Target, outbox: "Outbox | None") -> MessageSource:
    bulk = request.bulk
    messages = [Publication.of(packet, target.version, number) for number, packet in enumerate(request.packets, 1)]
    if outbox is not None:
        every = chain.from_iterable(repeat(messages, bulk.repeat))
        while some := list(islice(every, BATCH)):
            outbox.add(some)
        return Listed(_earlier(outbox, target.version))
    if bulk.repeat == 1:
        return Listed(messages)
    return Repeated(messages, bulk.repeat, bulk.delay_s)


def _stream(request: PublishRequest, target: Target, report: RunReport, outbox: "Outbox | None") -> MessageSource:
    from .messages import Lines

    parse = _parse(request, target, report)
    earlier = _earlier(outbox, target.version) if outbox is not None else iter(())
    # Nobody needs the outcome of each message, so they can be written at once.
    in_batches = not (request.shown.json or request.shown.inspect or request.bulk.rate or outbox is not None)
    descriptor = standard_input().fileno()
    try:
        if in_batches and isinstance(parse, Lines) and request.packets[0].qos == 0:
            return Batched(descriptor, parse.batch)
        return Streamed(descriptor, parse, outbox=outbox, earlier=earlier)
    except OSError as error:
        raise click.UsageError(f"standard input cannot be read: {error.strerror}") from None


def _parse(request: PublishRequest, target: Target, report: RunReport) -> "Pieces":
    """Return the function that makes messages of what is read from standard input."""
    from .messages import LineFormat, Lines, Objects, Pieces

    bulk = request.bulk
    line_format = LineFormat(
        packet=request.packets[0], version=target.version, delimiter=bulk.delimiter, convert=request.convert,
        template=_template(target) if bulk.template else None, force=request.force, warn=report.warn,
        needs_ack=bulk.require_subscribers,
    )  # fmt: skip
    if bulk.kind == "jsonl":
        return Objects(line_format, report.bad_line)
    return (Pieces if line_format.convert or line_format.template else Lines)(line_format, report.bad_line)


def _template(target: Target) -> "Callable[[str | bytes], Template]":
    """Return the constructor of templates for a connection."""
    from .lines import Template

    connect = target.connect
    return lambda text: Template(text, client_id=connect.client_id, username=connect.username)


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
