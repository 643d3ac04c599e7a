"""Flags to request objects."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from ...common.standard_input import standard_input
from ...live.net.target import Target
from ...spec.packets import Publish
from ...spec.versions import Version
from ..flags.bulk import NEEDS_AN_ANSWER, BulkRequest, bulk_request
from ..flags.connect import connect_packet, disconnect_packet
from ..flags.properties import chosen_properties, need_version_5
from ..flags.transport import port_of, transport_of
from .gate import judge, judge_expiry

SOURCES = {"message": "-m", "payload_value": "--payload", "file": "-f", "stdin": "-s", "null_message": "-n"}
STANDARD_INPUT = b"-"
"""The message that stands for standard input, as in most programs; `--payload text:-` is a hyphen."""


class PublishRequest(NamedTuple):
    """What to publish, where it goes, and how it is shown."""

    packets: tuple[Publish, ...]
    target: Target
    timeout_s: float
    embedded: bool
    force: bool
    inspect: bool
    json: bool
    secrets: bool
    full: bool
    bulk: BulkRequest = BulkRequest()
    chosen_client_id: bool = False
    """Whether the Client Identifier was given, and not made up."""
    convert: Callable[[bytes], bytes] | None = None
    """Turns what is given into a payload; for what comes from standard input piece by piece."""
    lint: bool = False
    """Whether all that is sent and received is judged."""


def publish_request(ctx: click.Context, given: dict[str, Any]) -> PublishRequest:
    """Return the request that the flags of `pub` make; raises UsageError."""
    target = connection_target(given)
    bulk = bulk_request(given)
    if bulk.reconnects == 0 and not bulk.outbox:
        judge_expiry(target, force=given["force"])
    packets: tuple[Publish, ...] = ()
    if not _only_the_rest(given, bulk):
        packet = publish_packet(given, target.version, bulk)
        packets = tuple(packet.replace(topic=topic) for topic in topics(given, bulk))
    if bulk.require_subscribers:
        need_version_5("--require-subscribers", target.version)
        # Each line of JSON names its QoS, so it is looked at when it comes.
        if bulk.kind != "jsonl" and any(not packet.qos for packet in packets):
            raise click.UsageError(f"--require-subscribers {NEEDS_AN_ANSWER}")
    return PublishRequest(
        packets, target, given["timeout"], given["embedded"], given["force"], given["inspect"],
        given["as_json"], given["show_secrets"], given["full"], bulk, given["client_id"] is not None,
        chosen_format(given), given["lint"],
    )  # fmt: skip


def _only_the_rest(given: dict[str, Any], bulk: BulkRequest) -> bool:
    """Whether nothing new is to be sent, only what an outbox still has."""
    named = given["topic"] or given["payload_size"] or any(given[key] for key in SOURCES)
    return bool(bulk.outbox and not bulk.kind and not named)


def connection_target(given: dict[str, Any]) -> Target:
    """Return the Target that the connection flags name; raises UsageError for a forbidden CONNECT or DISCONNECT."""
    version: Version = given["mqtt_version"]
    connect, disconnect = connect_packet(given, version), disconnect_packet(given, version)
    for packet in (connect, disconnect):
        judge(packet, version, force=given.get("force"))
    transport = transport_of(given)
    return Target(given["host"], port_of(given, transport), version, connect, disconnect, transport)


def topics(given: dict[str, Any], bulk: BulkRequest) -> tuple[str, ...]:
    """Return the topics to publish to; raises UsageError when there is none."""
    chosen: tuple[str, ...] = given["topic"] or (("",) if bulk.kind == "jsonl" else ())
    if not chosen:
        raise click.UsageError("no topic: give -t, or a URL with one")
    if chosen[1:] and given["packet_id"] is not None:
        raise click.BadParameter(f"is for one message, but there are {len(chosen)} topics", param_hint="--packet-id")
    if chosen[1:] and bulk.kind:
        raise click.UsageError(f"messages from standard input go to one topic, but {len(chosen)} were given")
    return chosen


def publish_packet(given: dict[str, Any], version: Version, bulk: BulkRequest) -> Publish:
    """Return the PUBLISH that the message flags describe; in bulk it has what all messages share."""
    qos: int = given["qos"]
    packet_id = given["packet_id"]
    if not qos and packet_id is not None:
        raise click.BadParameter("only QoS 1 and 2 have a Packet Identifier", param_hint="--packet-id")
    return Publish(
        topic=topics(given, bulk)[0], payload=b"" if bulk.kind else formatted_payload(given), qos=qos,
        retain=given["retain"], dup=given["dup"], packet_id=packet_id,
        properties=chosen_properties("PUBLISH", given, version),
    )  # fmt: skip


def formatted_payload(given: dict[str, Any]) -> bytes:
    """Return the payload in the format that was asked for; raises UsageError."""
    if given["payload_size"] is not None:
        from ...payload.formats import random_payload

        return random_payload(given["payload_size"])
    data, convert = payload(given), chosen_format(given)
    if convert is None:
        return data
    try:
        return convert(data)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def chosen_format(given: dict[str, Any]) -> Callable[[bytes], bytes] | None:
    """Return the converter that the format flags name, or None; raises UsageError."""
    if not any(given[key] for key in ("format", "protobuf_path", "protobuf_message_name", "avsc_path")):
        return None
    from ..flags.payload import chosen_format

    return chosen_format(given)


def payload(given: dict[str, Any], *, required: bool = True) -> bytes:
    """Return the payload from the one source that was named; raises UsageError."""
    named = [letter for key, letter in SOURCES.items() if given[key] not in (None, False)]
    if not named and required:
        raise click.UsageError("no payload: give one of -m, -f, -s or -n")
    if named[1:]:
        raise click.UsageError(f"only one payload at a time, but {' and '.join(named)} were given")
    if given["payload_value"] is not None:
        value: bytes = given["payload_value"]
        return value
    if given["message"] is not None:
        message: bytes = given["message"]
        if message == STANDARD_INPUT:
            return _standard_input()
        _hint(message)
        return message
    if given["file"]:
        return _file(given["file"])
    return _standard_input() if given["stdin"] else b""


def _hint(message: bytes) -> None:
    """Say on a terminal what else a text may have been meant for; a script is left alone."""
    from ...payload.bytes_argument import has_prefix

    if has_prefix(message) and sys.stderr.isatty():
        from ..notes import note

        text = message.decode("utf-8", "surrogateescape")
        note(f"the payload is the text '{text}' as it stands; --payload reads a value that begins so")


def _standard_input() -> bytes:
    from ...payload.bytes_argument import read_value

    try:
        return read_value(standard_input(), "standard input")
    except OSError as error:
        raise click.UsageError(f"standard input cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _file(path: str) -> bytes:
    if path == "-":
        return _standard_input()
    from ...payload.bytes_argument import read_value

    try:
        with open(path, "rb") as file:
            return read_value(file, f"'{path}'")
    except OSError as error:
        raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint="--file") from None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--file") from None
