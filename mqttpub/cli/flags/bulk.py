"""The flags for publishing many messages, and the request they make."""

from typing import NamedTuple

import click

from .base import FlagValues, flag, together
from .connection import reconnect_flag, reconnects_of
from .payload import TemplateRequest, template_flags, template_request
from .types import AUTO, MOST, PATH, FiniteRange, NumberType

NEEDS_AN_ANSWER = "needs QoS 1 or 2: a QoS 0 message is not acknowledged"
KINDS = {"lines": "lines", "nul": "lines", "jsonl": "jsonl", "csv": "csv"}
"""What the input holds, by the parameter that says so."""
DELIMITERS = {"lf": b"\n", "crlf": b"\r\n", "nul": b"\0", "tab": b"\t"}


class BulkRequest(NamedTuple):
    """How many messages to publish, from where, and how fast."""

    kind: str = ""
    """lines, jsonl or csv: what the input holds; empty for messages that the flags name."""
    delimiter: bytes = b"\n"
    rate: float | None = None
    window: int = 65535
    repeat: int = 1
    delay_s: float = 0.0
    outbox: str | None = None
    resend_doubtful: bool = False
    reconnects: int | None = 0
    aliases: bool = False
    require_subscribers: bool = False
    template: TemplateRequest | None = None
    """What the placeholders of the messages are filled with; None where there are none."""


bulk_flags = together(
    flag(
        "-l", "--stdin-line", "lines", is_flag=True, aliases=("--multiline", "--line-mode", "-lm"), common=True,
        help="Publish each line of standard input as a message.",
    ),
    flag(
        "--jsonl", is_flag=True, common=True,
        help="Publish JSON lines of standard input: topic, payload, ...",
    ),
    flag("-0", "--null", "nul", is_flag=True, help="One message for each NUL-separated piece of standard input."),
    flag(
        "--delimiter", metavar="TEXT",
        help="Separator between the messages of -l: text, or lf, crlf, nul, tab. [default: lf]",
    ),
    template_flags,
    flag("--repeat", type=NumberType(1, MOST), default=1, metavar="N", help="Publish the message N times."),
    flag(
        "--repeat-delay", type=FiniteRange(min=0), default=0.0, metavar="SECONDS",
        help="Wait this long between repeats.",
    ),
    flag(
        "--rate", common=True, type=FiniteRange(min=0, min_open=True), metavar="N",
        help="Limit the rate to N messages per second.",
    ),
    flag(
        "-M", "--max-inflight", aliases=("--send-max", "--sendMax"), type=NumberType(1, 65535), default=65535,
        metavar="N",
        help="Maximum number of unacknowledged QoS 1 and 2 messages, 1 to 65535; the broker may allow fewer.",
    ),
    flag(
        "--outbox", common=True, type=PATH, metavar="PATH",
        help="Keep messages in this file until they are acknowledged.",
    ),
    flag(
        "--resend-doubtful", is_flag=True,
        help="Send again the messages that an earlier run left in doubt in the outbox.",
    ),
    reconnect_flag("Reconnect after a lost connection, N times or until the timeout. [default: never]"),
    flag(
        "--require-subscribers", is_flag=True,
        help="Fail with status 5 when the broker reports no subscribers (Reason Code 0x10, QoS 1 and 2, MQTT 5); "
        "not every broker reports it.",
    ),
    group="Many messages",
)  # fmt: skip


def bulk_request(given: FlagValues) -> BulkRequest:
    """Return the request that the flags make; raises UsageError for flags that contradict each other."""
    kinds = [kind for key, kind in KINDS.items() if given[key]]
    if kinds[1:]:
        raise click.UsageError("only one of -l, -0, --jsonl and --csv at a time")
    template = template_request(given)
    if template and given["jsonl"]:
        raise click.UsageError("--template does not go with --jsonl, whose lines are whole messages")
    if given["delimiter"] is not None and not given["lines"]:
        raise click.UsageError("--delimiter needs -l")
    if kinds and given["repeat"] != 1:
        raise click.UsageError("--repeat is for a message that flags name, not for standard input or --csv")
    if given["outbox"] and given["repeat_delay"]:
        raise click.UsageError("--repeat-delay does not go with --outbox")
    if given["resend_doubtful"] and not given["outbox"]:
        raise click.UsageError("--resend-doubtful needs --outbox")
    return BulkRequest(
        kind=kinds[0] if kinds else "", delimiter=_delimiter(given), rate=given["rate"], window=given["max_inflight"],
        repeat=given["repeat"], delay_s=given["repeat_delay"], outbox=given["outbox"],
        resend_doubtful=given["resend_doubtful"],
        reconnects=reconnects_of(given),
        aliases=given["topic_alias"] == AUTO, require_subscribers=given["require_subscribers"],
        template=template,
    )  # fmt: skip


def _delimiter(given: FlagValues) -> bytes:
    if given["nul"]:
        return b"\0"
    text: str | None = given["delimiter"]
    if text is None:
        return b"\n"
    if not text:
        raise click.BadParameter("is empty", param_hint="--delimiter")
    return DELIMITERS.get(text.lower(), text.encode("utf-8", "surrogateescape"))
