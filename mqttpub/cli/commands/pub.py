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
from ..flags.unsupported import CONNECTION, PUBLISHING, refused_flags

message_flags = together(
    flag("-t", "--topic", common=True, multiple=True, metavar="TOPIC", help="Topic Name; may be repeated."),
    ready(payload_options()),
    flag(
        "-q", "--qos", common=True, type=NumberType(0, 3), default=0, show_default=True, metavar="0|1|2", help="QoS.",
    ),
    flag("-r", "--retain", common=True, is_flag=True, help="Have the broker keep the message for new subscribers."),
    flag("--dup", is_flag=True, help="Set DUP: this is a re-delivery."),
    flag(
        "--packet-id", type=U16_NUMBER, metavar="ID",
        help="Packet Identifier, such as 25674 or 0x644a. [default: 1]",
    ),
    group="Message",
)  # fmt: skip

property_options = together(ready(property_flags("PUBLISH")), group="PUBLISH properties")

output_flags = together(
    flag(
        "-d", "--inspect", aliases=("--debug", "--verbose"), is_flag=True, common=True,
        help="Show every byte sent and received.",
    ),
    flag(
        "--lint", is_flag=True, common=True,
        help="Check both ends against the specification.",
    ),
    flag(
        "--json", "as_json", is_flag=True, common=True,
        help="Print JSON Lines: the outcome; with --inspect, packets.",
    ),
    flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data."),
    flag("--full", is_flag=True, help="Show every byte of a long field."),
    flag("--quiet", is_flag=True, help="Print nothing on standard error."),
    group="Output",
)  # fmt: skip


run_flags = together(
    flag("--embedded", is_flag=True, common=True, help="Start the built-in broker on loopback for this run."),
    flag("--force", is_flag=True, help="Send even what the specification forbids."),
    profile_flag,
)


@click.command(
    name="pub",
    cls=Client,
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
@connection_flags
@transport_flags
@session_flags
@output_flags
@run_flags
@refused_flags(CONNECTION, PUBLISHING)
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Publish a message and see that it arrived.
    Exit status: 0 if the broker accepted it; see `mqttpub help exit-status`.
    """
    from ..pub.request import publish_request
    from ..pub.run import publish

    return publish(publish_request(ctx, given))
