"""`mqttpub pub`."""

from typing import Any

import click

from .flags import U16_NUMBER, connection_flags, flag, payload_options, property_flags, ready, together

message_flags = together(
    flag("-t", "--topic", required=True, metavar="TOPIC", help="Topic Name."),
    ready(payload_options()),
    flag("-q", "--qos", type=int, default=0, show_default=True, metavar="0|1|2", help="QoS."),
    flag("-r", "--retain", is_flag=True, help="RETAIN: the broker keeps the message for new subscribers."),
    flag("--dup", is_flag=True, help="DUP: say that this is a re-delivery."),
    flag(
        "--packet-id", type=U16_NUMBER, metavar="ID",
        help="Packet Identifier, such as 25674 or 0x644a. [default: 1]",
    ),
    property_flags("PUBLISH"),
)  # fmt: skip

output_flags = together(
    flag(
        "-d", "--inspect", aliases=("--debug",), is_flag=True,
        help="Show every packet sent and received, each byte named.",
    ),
    flag("--json", "as_json", is_flag=True, help="Print JSON Lines: the outcome; with --inspect each packet too."),
    flag("--show-secrets", is_flag=True, help="Do not mask passwords and authentication data."),
    flag("--full", is_flag=True, help="Show every byte of a long field."),
)  # fmt: skip


@click.command(name="pub", context_settings={"help_option_names": ["--help"], "max_content_width": 100})
@message_flags
@connection_flags
@flag("--embedded", is_flag=True, help="Start a broker of our own on loopback for this run, to try things.")
@flag("--force", is_flag=True, help="Send what the specification forbids all the same.")
@output_flags
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> int:
    """Publish a message and see that it arrived.

    Exit status: 0 accepted by the broker (QoS 0: sent, and no objection came), 2 wrong flags,
    3 no connection, 4 connection refused, 5 message refused, 6 outcome unknown, 7 the broker
    broke the protocol.
    """
    from .publishing import publish
    from .requests import publish_request

    return publish(publish_request(ctx, given))
