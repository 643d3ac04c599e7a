"""Flags to request objects."""

import os
import sys
from typing import Any, NamedTuple

import click

from ..live.connection import Target
from ..spec.fields import Property
from ..spec.packets import Connect, Publish
from ..spec.properties import of_packet
from ..spec.terms import Version
from .flags import client_id

SOURCES = {"message": "-m", "file": "-f", "stdin": "-s", "null_message": "-n"}
MAX_PAYLOAD = 268_435_455


class PublishRequest(NamedTuple):
    """What to publish, where it goes, and how it is shown."""

    packets: tuple[Publish, ...]
    target: Target
    timeout: float
    embedded: bool
    force: bool
    inspect: bool
    json: bool
    secrets: bool
    full: bool


def publish_request(ctx: click.Context, given: dict[str, Any]) -> PublishRequest:
    """Return the request that the flags of `pub` make; raises UsageError."""
    target = connection_target(given)
    packet = publish_packet(given, target.version)
    return PublishRequest(
        (packet,), target, given["timeout"], given["embedded"], given["force"], given["inspect"],
        given["as_json"], given["show_secrets"], given["full"],
    )  # fmt: skip


def connection_target(given: dict[str, Any]) -> Target:
    """Return the Target that the connection flags name."""
    password = _password(given)
    if password is not None and given["username"] is None:
        raise click.UsageError("--password needs --username")
    connect = Connect(
        client_id=given["client_id"] if given["client_id"] is not None else client_id(),
        username=given["username"], password=password, keep_alive=given["keep_alive"], clean_start=given["clean"],
    )  # fmt: skip
    return Target(given["host"], given["port"], given["mqtt_version"], connect)


def _password(given: dict[str, Any]) -> bytes | None:
    if given["password"] is not None:
        click.echo("mqttpub: a password among the arguments can be seen by other users", err=True)
        password: bytes = given["password"]
        return password
    if path := given["password_file"]:
        try:
            with open(path, "rb") as file:
                return file.readline().rstrip(b"\r\n")
        except OSError as error:
            raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint="--password-file") from None
    from_environment = os.environ.get("MQTTPUB_PASSWORD")
    return None if from_environment is None else os.fsencode(from_environment)


def publish_packet(given: dict[str, Any], version: Version) -> Publish:
    """Return the PUBLISH that the message flags describe."""
    qos: int = given["qos"]
    if not 0 <= qos <= 3:
        raise click.BadParameter(f"{qos} does not fit two bits", param_hint="--qos")
    packet_id = given["packet_id"]
    if not qos and packet_id is not None:
        raise click.BadParameter("only QoS 1 and 2 have a Packet Identifier", param_hint="--packet-id")
    return Publish(
        topic=given["topic"], payload=payload(given), qos=qos, retain=given["retain"], dup=given["dup"],
        packet_id=packet_id, properties=chosen_properties("PUBLISH", given, version),
    )  # fmt: skip


def chosen_properties(packet: str, given: dict[str, Any], version: Version, prefix: str = "") -> tuple[Property, ...]:
    """Return the properties whose flags were given, in the order of their identifiers; raises UsageError."""
    chosen: list[Property] = []
    for row in of_packet(packet):
        key = prefix + row.key.removeprefix(prefix)
        value = given.get(key)
        if value is None or value == ():
            continue
        if version < Version.V5:
            name = "--" + key.replace("_", "-")
            raise click.UsageError(f"{name} needs MQTT 5, but the version is {version.label}")
        values = value if row.repeatable else (value,)
        chosen.extend(Property(row.id, each) for each in values)
    return tuple(chosen)


def payload(given: dict[str, Any], *, required: bool = True) -> bytes:
    """Return the payload from the one source that was named; raises UsageError."""
    named = [letter for key, letter in SOURCES.items() if given[key] not in (None, False)]
    if not named and required:
        raise click.UsageError("no payload: give one of -m, -f, -s or -n")
    if named[1:]:
        raise click.UsageError(f"only one payload at a time, but {' and '.join(named)} were given")
    if given["message"] is not None:
        message: bytes = given["message"]
        return message
    if given["file"]:
        return _file(given["file"])
    return _bounded(sys.stdin.buffer.read(MAX_PAYLOAD + 1), "standard input") if given["stdin"] else b""


def _file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return _bounded(file.read(MAX_PAYLOAD + 1), path)
    except OSError as error:
        raise click.BadParameter(f"cannot read '{path}': {error.strerror}", param_hint="--file") from None


def _bounded(data: bytes, source: str) -> bytes:
    if len(data) > MAX_PAYLOAD:
        raise click.UsageError(f"{source} holds more than {MAX_PAYLOAD} bytes, but no packet can")
    return data
