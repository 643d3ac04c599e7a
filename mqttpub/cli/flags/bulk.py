"""The flags for publishing many messages."""

from .base import flag, together
from .connection import reconnect_flag
from .payload import template_flags
from .types import MOST, PATH, FiniteRange, NumberType

NEEDS_AN_ANSWER = "needs QoS 1 or 2: a QoS 0 message is not acknowledged"
DELIMITERS = {"lf": b"\n", "crlf": b"\r\n", "nul": b"\0", "tab": b"\t"}

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
