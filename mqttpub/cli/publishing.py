"""What `pub` does with its request: judge, connect, publish, show."""

from contextlib import ExitStack
from typing import Any

import click

from ..codec.encode import encode
from ..lint.quick import sound
from ..live.failures import Exit, Failure, Interrupted
from ..live.flows import Exchange
from ..live.session import Session
from ..spec.packets import Publish
from ..spec.reasons import Codes
from ..spec.terms import Direction, Version
from .requests import PublishRequest


def publish(request: PublishRequest) -> int:
    """Publish the message of a request and return the exit status."""
    judge(request.packet, request.target.version, force=request.force)
    with ExitStack() as stack:
        target = request.target
        if request.embedded:
            target = target._replace(host="127.0.0.1", port=_embedded(stack))
        inspector = _inspector(request)
        try:
            return _run(request, target, inspector, stack)
        finally:
            if inspector:
                inspector.flush()


def judge(packet: Publish, version: Version, *, force: bool) -> bytes:
    """Return the bytes of a packet; raises UsageError for what the specification forbids, unless forced."""
    try:
        data = encode(packet, version)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if force:
        return data
    if sound(packet, version):
        return data
    from ..codec.decode import decode
    from ..lint.packet import lint

    for finding in lint(decode(data, version, direction=Direction.CLIENT), Direction.CLIENT):
        if finding.severity == "error":
            raise click.UsageError(f"{finding.message} ({finding.statement}); --force sends it all the same")
    return data


def _embedded(stack: ExitStack) -> int:
    from ..lab.broker import Broker

    broker: Any = stack.enter_context(Broker())
    return int(broker.port)


def _inspector(request: PublishRequest) -> Any:
    if not request.inspect:
        return None
    from .inspecting import Inspector

    return Inspector(request.target.version, json=request.json, secrets=request.secrets, full=request.full)


def _run(request: PublishRequest, target: Any, inspector: Any, stack: ExitStack) -> int:
    if inspector:
        inspector.remark(f"connecting to {target.place} as {target.connect.client_id!r}, MQTT {target.version.label}")
    session = stack.enter_context(Session(target, timeout=request.timeout, observer=inspector))
    session.open()
    status = Exit.DONE
    try:
        for exchange in session.publish([(request.packet, request.packet)]):
            status = report(exchange, request, inspector)
        if exchange_is_silent(request):
            session.probe()
        session.close()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {session.unfinished()}") from None
    except Failure as failure:
        if request.json:
            _print_json({"event": "failure", "status": int(failure.status), "message": str(failure)})
        raise
    return status


def exchange_is_silent(request: PublishRequest) -> bool:
    """Whether the broker neither acknowledges the message nor can say why it refuses it."""
    return request.packet.qos not in (1, 2) and request.target.version < Version.V5


def report(exchange: Exchange, request: PublishRequest, inspector: Any) -> Exit:
    """Say how a message ended and return the exit status that it means."""
    if inspector:
        inspector.flush()
    if request.json:
        _print_json(outcome(exchange, request.target.version))
    if exchange.refused:
        code, text = exchange.reason_code, reason(exchange, request.target.version)
        said = f": {exchange.reason_string}" if exchange.reason_string else ""
        _note(f"the broker refused the message: 0x{code:02x} {text}{said}")
        return Exit.REFUSED
    if exchange.reason_code == 0x10 and not request.json and (inspector or _stderr_is_terminal()):
        _note(f"accepted, but nobody subscribes to '{exchange.token.topic}' (0x10)")
    return Exit.DONE


def outcome(exchange: Exchange, version: Version) -> dict[str, Any]:
    """Return the JSON record of one message."""
    packet: Publish = exchange.token
    ended = "refused" if exchange.refused else "accepted" if exchange.acked_at else "sent"
    record = {
        "event": "message", "topic": packet.topic, "qos": packet.qos, "retain": packet.retain,
        "packet_id": exchange.packet_id, "payload_bytes": len(packet.payload), "outcome": ended,
        "reason_code": exchange.reason_code, "reason": reason(exchange, version),
        "reason_string": exchange.reason_string or None, "sent_at": exchange.sent_at,
        "seconds": None if exchange.seconds is None else round(exchange.seconds, 6),
    }  # fmt: skip
    return {key: value for key, value in record.items() if value is not None}


def reason(exchange: Exchange, version: Version) -> str | None:
    """Return the name of the Reason Code that ended an exchange."""
    if exchange.reason_code is None:
        return None
    return Codes("PUBACK" if exchange.qos == 1 else "PUBREC").name(exchange.reason_code, version)


def _print_json(record: dict[str, Any]) -> None:
    import json

    click.echo(json.dumps(record, separators=(",", ":")))


def _note(text: str) -> None:
    from ..view.escape import escape

    click.echo(f"mqttpub: {escape(text)}", err=True)


def _stderr_is_terminal() -> bool:
    import sys

    return sys.stderr.isatty()
