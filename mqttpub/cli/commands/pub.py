"""`mqttpub pub`."""

from typing import Any

import click

from ..flags.base import flag, ready, together
from ..flags.bulk import bulk_flags
from ..flags.client import Client
from ..flags.connect import session_flags
from ..flags.connection import connection_flags
from ..flags.payload import format_flags, payload_options
from ..flags.profile import profile_flag
from ..flags.properties import property_flags
from ..flags.transport import transport_flags
from ..flags.types import U16_NUMBER, NumberType
from ..flags.unsupported import CONNECTION, PUBLISHING, foreign_flags

message_flags = together(
    flag("-t", "--topic", multiple=True, metavar="TOPIC", help="Topic Name; each one given gets the message."),
    ready(payload_options()),
    flag("-q", "--qos", type=NumberType(0, 3), default=0, show_default=True, metavar="0|1|2", help="QoS."),
    flag("-r", "--retain", is_flag=True, help="RETAIN: the broker keeps the message for new subscribers."),
    flag("--dup", is_flag=True, help="DUP: say that this is a re-delivery."),
    flag(
        "--packet-id", type=U16_NUMBER, metavar="ID",
        help="Packet Identifier, such as 25674 or 0x644a. [default: 1]",
    ),
    group="Message",
)  # fmt: skip

property_options = together(ready(property_flags("PUBLISH")), group="PUBLISH properties")

output_flags = together(
    flag(
        "-d", "--inspect", aliases=("--debug", "--verbose"), is_flag=True,
        help="Show every packet sent and received, each byte named; MQTTX's -d is --dup.",
    ),
    flag(
        "--lint", is_flag=True,
        help="Judge every packet sent and received, together with those before it; an error of the broker is status 7.",
    ),
    flag("--json", "as_json", is_flag=True, help="Print JSON Lines: the outcome; with --inspect each packet too."),
    flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data."),
    flag("--full", is_flag=True, help="Show every byte of a long field."),
    flag("--quiet", is_flag=True, help="Say nothing on standard error."),
    group="Output",
)  # fmt: skip


run_flags = together(
    flag("--embedded", is_flag=True, help="Start a broker of our own on loopback for this run, to try things."),
    flag("--force", is_flag=True, help="Send what the specification forbids all the same."),
    profile_flag,
)


@click.command(name="pub", cls=Client)
@message_flags
@together(format_flags, group="Message")
@property_options
@bulk_flags
@connection_flags
@transport_flags
@session_flags
@output_flags
@run_flags
@foreign_flags(CONNECTION, PUBLISHING)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Publish a message and see that it arrived.

    Exit status: 0 accepted by the broker (QoS 0: sent, and no objection came), 2 wrong flags,
    3 no connection, 4 connection refused, 5 message refused, 6 outcome unknown, 7 the broker
    broke the protocol (with --lint also in a way that did no harm), 74 the output cannot be
    written, 129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM.
    """
    from ..pub.request import publish_request
    from ..pub.run import publish

    return publish(publish_request(ctx, given))
