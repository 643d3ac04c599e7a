"""What `pub` does with its request: judge, connect, publish, report.

This is the one place that drives a run, and it reads from top to bottom: the feed says what to send where, the
Publisher sends it, the OutcomeReport takes each outcome, and the RunResult becomes the exit status.
"""

from contextlib import ExitStack, closing

from ...live.failures import Failure, Interrupted
from ...live.net.target import Target
from ...live.net.transport import Transport
from ...live.publish.publisher import Publisher, PublishOptions
from .. import signals
from ..notes import note
from ..observe.observers import Observers, observers
from .feed import feed
from .outcome import OutcomeReport, RunResult
from .report import RunReport
from .request import PublishRequest


def publish(request: PublishRequest) -> int:
    """Publish the messages of a request and return the exit status; raises a Failure, and UsageError."""
    with ExitStack() as stack:
        target = _embedded(request.target, stack) if request.embedded else request.target
        seen = observers(request, stack)
        outcome = _run(request, target, seen, stack)
    return seen.status(outcome.status)


def _run(request: PublishRequest, target: Target, seen: Observers, stack: ExitStack) -> RunResult:
    inspector, watch = seen.inspector, seen.watch
    report = OutcomeReport(request, inspector)
    try:
        target, source, outbox = feed(request, target, report, stack)
    except KeyboardInterrupt:
        raise Interrupted(f"{signals.word()}; nothing was sent", signals.status()) from None
    if inspector:
        inspector.remark(f"connecting to {target.place} as {target.connect.client_id!r}, MQTT {target.version.label}")
    publisher = Publisher(
        target, source, _options(request), observer=seen.observer, journal=outbox,
        remark=inspector.remark if inspector else note,
    )  # fmt: skip
    if watch:
        watch.aside = report.hide
    transfer(publisher, report)
    if inspector:
        inspector.flush()
    if outbox and request.bulk.kind:
        # The very last step: a run that dies before it resumes at this place, one that dies after it starts anew.
        outbox.forget_place()
    return report.result


def transfer(publisher: Publisher, report: RunReport) -> None:
    """Publish everything and report each outcome; raises a Failure."""
    with closing(report):
        report.begin(publisher.source.size_bytes)
        _publish(publisher, report)
        report.end(publisher)


def _publish(publisher: Publisher, report: RunReport) -> None:
    """Publish everything; a Failure or a signal is reported before it is raised."""
    try:
        # However the loop ends, the connection ends before anything is said of it.
        with closing(publisher.run()) as turns:
            for _ in turns:
                report.take(publisher)
    except KeyboardInterrupt:
        interrupted = Interrupted(f"{signals.word()}; {publisher.unfinished()}", signals.status())
        report.failure(interrupted, publisher)
        raise interrupted from None
    except Failure as failure:
        report.failure(failure, publisher)
        raise


def _options(request: PublishRequest) -> PublishOptions:
    bulk = request.bulk
    return PublishOptions(
        timeout_s=request.timeout_s, window=bulk.window, force=request.force, reconnects=bulk.reconnects,
        aliases=bulk.aliases,
    )  # fmt: skip


def _embedded(target: Target, stack: ExitStack) -> Target:
    """Return the target changed to a broker that lives as long as the stack."""
    from ...lab.broker.server import Broker

    port = stack.enter_context(Broker()).port
    return target._replace(host="127.0.0.1", port=port, transport=Transport())
