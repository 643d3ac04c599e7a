"""What `pub` does with its request: judge, connect, publish, show."""

from contextlib import ExitStack
from typing import Any

import click

from ..codec.encode import encode
from ..lint.quick import sound
from ..live.connection import Target
from ..live.failures import Failure, Interrupted
from ..live.flows import Message
from ..live.publisher import Listed, Options, Publisher
from ..spec.packets import Publish
from ..spec.terms import Direction, Version
from .report import Report, note
from .requests import PublishRequest


def publish(request: PublishRequest) -> int:
    """Publish the messages of a request and return the exit status."""
    version = request.target.version
    for packet in request.packets:
        judge(packet, version, force=request.force)
    with ExitStack() as stack:
        target = request.target
        if request.embedded:
            target = target._replace(host="127.0.0.1", port=_embedded(stack))
        inspector = _inspector(request)
        if inspector:
            inspector.remark(f"connecting to {target.place} as {target.connect.client_id!r}, MQTT {version.label}")
            stack.callback(inspector.flush)
        return _run(request, target, inspector)


def _run(request: PublishRequest, target: Target, inspector: Any) -> int:
    messages = [Message.of(packet, target.version, number) for number, packet in enumerate(request.packets, 1)]
    options = Options(timeout=request.timeout, force=request.force)
    publisher = Publisher(target, Listed(messages), options, observer=inspector, remark=_remark(inspector))
    report = Report(request, inspector)
    try:
        for exchange in publisher.run():
            report.exchange(exchange)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {publisher.unfinished()}") from None
    except Failure as failure:
        report.failure(failure, publisher)
        raise
    return report.end(publisher)


def judge(packet: Publish, version: Version, *, force: bool) -> None:
    """Raise UsageError for what cannot be written, and unless forced for what the specification forbids."""
    try:
        # The identifier is given when the message is sent; any serves to judge the rest.
        packet_id = (packet.packet_id or 1) if packet.qos and packet.packet_id is None else packet.packet_id
        packet = packet.replace(packet_id=packet_id)
        data = encode(packet, version)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if force or sound(packet, version):
        return
    from ..codec.decode import decode
    from ..lint.packet import lint

    for finding in lint(decode(data, version, direction=Direction.CLIENT), Direction.CLIENT):
        if finding.severity == "error":
            raise click.UsageError(f"{finding.message} ({finding.statement}); --force sends it all the same")


def _embedded(stack: ExitStack) -> int:
    from ..lab.broker import Broker

    return stack.enter_context(Broker()).port


def _inspector(request: PublishRequest) -> Any:
    if not request.inspect:
        return None
    from .inspecting import Inspector

    return Inspector(request.target.version, json=request.json, secrets=request.secrets, full=request.full)


def _remark(inspector: Any) -> Any:
    return inspector.remark if inspector else note
