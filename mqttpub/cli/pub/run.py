"""What `pub` does with its request: judge, connect, publish, show."""

from contextlib import ExitStack, closing
from typing import Any

from ...live.failures import Exit, Failure, Interrupted
from ...live.net.target import Target
from ...live.net.transport import Transport
from ...live.publish.publisher import Options, Publisher
from .. import signals
from ..flags.transport import check
from ..notes import note
from .feed import feed
from .gate import judge
from .outcome import Report
from .request import PublishRequest


def publish(request: PublishRequest) -> int:
    """Publish the messages of a request and return the exit status."""
    version = request.target.version
    check(request.target.transport)
    for packet in request.packets if request.bulk.kind != "jsonl" else ():
        judge(packet, version, force=request.force)
    with ExitStack() as stack:
        target = request.target
        if request.embedded:
            target = target._replace(host="127.0.0.1", port=_embedded(stack), transport=Transport())
        watch = _watch(request)
        if watch:
            stack.callback(watch.end)
        inspector = _inspector(request, watch)
        if inspector:
            stack.callback(inspector.flush)
        status = _run(request, target, inspector, watch, stack)
    return Exit.PEER_FAULT if status == Exit.DONE and watch and watch.peer_errors else status


def _run(request: PublishRequest, target: Target, inspector: Any, watch: Any, stack: ExitStack) -> int:
    bulk = request.bulk
    options = Options(request.timeout, bulk.window, request.force, bulk.reconnects, bulk.aliases)
    report = Report(request, inspector)
    try:
        target, source, outbox = feed(request, target, report, stack)
    except KeyboardInterrupt:
        raise Interrupted(f"{signals.word()}; nothing was sent", signals.status()) from None
    if inspector:
        inspector.remark(f"connecting to {target.place} as {target.connect.client_id!r}, MQTT {target.version.label}")
    observer = inspector or watch
    publisher = Publisher(target, source, options, observer=observer, journal=outbox, remark=_remark(inspector))
    report.watch(publisher, source)
    stack.callback(report.close)
    if watch:
        watch.aside = report.hide
    try:
        # However the loop ends, the connection ends before anything is said of it.
        with closing(publisher.run()) as exchanges:
            for exchange in exchanges:
                report.exchange(exchange)
    except KeyboardInterrupt:
        interrupted = Interrupted(f"{signals.word()}; {publisher.unfinished()}", signals.status())
        report.failure(interrupted, publisher)
        raise interrupted from None
    except Failure as failure:
        report.failure(failure, publisher)
        raise
    status = report.end(publisher)
    report.close()
    if inspector:
        inspector.flush()
    if outbox:
        # The last thing of all: a run that dies before it goes on at its place, one that dies behind it begins anew.
        outbox.forget_place()
    return status


def _embedded(stack: ExitStack) -> int:
    from ...lab.broker.server import Broker

    return stack.enter_context(Broker()).port


def _watch(request: PublishRequest) -> Any:
    if not request.lint:
        return None
    from ..inspect.findings import OutputOptions
    from .watch import Watch

    return Watch(request.target.version, OutputOptions(json=request.json, secrets=request.secrets, full=request.full))


def _inspector(request: PublishRequest, watch: Any) -> Any:
    if not request.inspect:
        return None
    from .inspect import Inspector

    return Inspector(request.target.version, json=request.json, secrets=request.secrets, full=request.full, watch=watch)


def _remark(inspector: Any) -> Any:
    return inspector.remark if inspector else note
