"""The flags that say which messages `sub` takes, how it answers them and how it writes them."""

from typing import TYPE_CHECKING, NamedTuple

import click

from ..flags.base import FlagValues, flag, together
from ..flags.bulk import DELIMITERS
from ..flags.connection import reconnect_flag, reconnects_of
from ..flags.payload import payload_format, payload_format_flags
from ..flags.types import MOST, PATH, TOPIC_FILTER, U16_NUMBER, FiniteRange, NumberType

if TYPE_CHECKING:
    from ...live.subscribe.subscriber import SubscribeOptions
    from ...payload.formats import PayloadReader

LINES, VERBOSE, FORMAT, JSON, RAW, WATCH = "lines", "verbose", "format", "json", "raw", "watch"
"""What is written of each message."""


class Selected(NamedTuple):
    """Which messages count, and when there are enough."""

    most: int | None = None
    """End after so many messages."""
    duration_s: float | None = None
    """End after so many seconds, counted from the start of the program."""
    only_subscribe: bool = False
    """End as soon as the subscriptions are acknowledged."""
    retained: bool | None = None
    """True for only retained messages, until the first other one; False for only others; None for both."""
    remove_retained: bool = False
    filter_out: tuple[str, ...] = ()
    """Topic Filters of messages that do not count."""
    random_percent: float | None = None
    """Of the other messages, so many percent count, chosen at random; None for all."""


class OutputForm(NamedTuple):
    """How messages are written, and where."""

    kind: str = LINES
    delimiter: bytes = b"\n"
    """What follows each message."""
    format: str = ""
    """The format string of FORMAT."""
    pretty: bool = False
    payload_format: str = ""
    """The name of the format that payloads are read in; empty for payloads as they are."""
    reader: "PayloadReader | None" = None
    """Reads payloads of that format."""
    raw: bool = False
    """Whether what came from the peer is written without escapes."""
    file: str | None = None
    """The file that messages are appended to, in place of standard output."""
    folder_file: str | None = None
    """The file that the first message is saved as; others get a number."""


ACK_REASON = NumberType(0, 0xFF)

selection_flags = together(
    flag(
        "-C", "--count", common=True, type=NumberType(1, MOST), metavar="N", help="End after N messages."
    ),
    flag(
        "-W", "--duration", common=True, type=FiniteRange(min=0, min_open=True), metavar="SECONDS",
        help="End after this long; status 1 if -C asks for more.",
    ),
    flag("-E", "--exit-after-suback", is_flag=True, help="End as soon as the subscriptions are acknowledged."),
    flag(
        "--retained-only", is_flag=True,
        help="Only retained messages; end at the first message that is not retained.",
    ),
    flag("-R", "--no-retained", is_flag=True, help="No retained messages."),
    flag("--remove-retained", is_flag=True, help="Remove each retained message from the broker after showing it."),
    flag(
        "-T", "--filter-out", multiple=True, type=TOPIC_FILTER, metavar="FILTER",
        help="Leave out messages whose topic matches this Topic Filter; may be repeated.",
    ),
    flag(
        "--random-filter", type=FiniteRange(min=0, min_open=True), metavar="PERCENT",
        help="Show only so many percent of the messages, up to 100, chosen at random.",
    ),
    group="Selection",
)  # fmt: skip

answer_flags = together(
    flag("--no-ack", is_flag=True, help="Acknowledge no message, to see what the broker does."),
    flag(
        "--ack-delay", type=FiniteRange(min=0), default=0.0, metavar="SECONDS",
        help="Hold each acknowledgement back this long.",
    ),
    flag(
        "--reason", type=ACK_REASON, metavar="CODE",
        help="Reason Code of PUBACK and PUBREC, such as 0x83, to refuse messages on purpose (since MQTT 5).",
    ),
    flag(
        "-M", "--max-inflight", type=U16_NUMBER, metavar="N",
        help="Receive Maximum: unacknowledged QoS 1 and 2 messages that the broker may send (since MQTT 5).",
    ),
    reconnect_flag("Reconnect after each loss of the connection, N times or until it succeeds. [default: never]"),
    group="Acknowledgements",
)  # fmt: skip

writing_flags = together(
    flag("-v", "--verbose", common=True, is_flag=True, help="Write the topic before each payload."),
    flag("--json", "as_json", common=True, is_flag=True, help="Write JSON Lines, as `pub --jsonl` takes them."),
    flag(
        "-F", "--output-format", common=True, metavar="FORMAT",
        help="Write each message by a format, such as '%I %t %p'.",
    ),
    flag("--raw", common=True, is_flag=True, help="Write exactly the bytes of the payloads."),
    flag("-w", "--watch", common=True, is_flag=True, help="Show a table of topics with their rates and last values."),
    payload_format_flags(
        "-f", "--format",
        help="structured values are written as JSON. [default: printable text as it is, everything else escaped]",
    ),
    flag("--pretty", is_flag=True, help="Spread the JSON of %j and %J over several lines."),
    flag(
        "--delimiter", metavar="TEXT",
        help="What follows each message: text, or lf, crlf, nul, tab. [default: lf; nothing for --raw]",
    ),
    flag("-N", "--no-newline", is_flag=True, help="Write nothing after a message."),
    flag("--file-write", type=PATH, metavar="PATH", help="Append messages to this file."),
    flag(
        "--file-save", type=PATH, metavar="PATH",
        help="Save each payload as a file of its own: name.ext, name(1).ext, ...; no file is replaced.",
    ),
    group="Output",
)  # fmt: skip


def selected(given: FlagValues) -> Selected:
    """Return which messages the flags select; raises UsageError."""
    if given["retained_only"] and given["no_retained"]:
        raise click.UsageError("--retained-only and --no-retained leave nothing")
    if given["remove_retained"] and given["no_retained"]:
        raise click.UsageError("--remove-retained does not go with --no-retained")
    if given["random_filter"] is not None and given["random_filter"] > 100:
        raise click.BadParameter(f"{given['random_filter']:g} is too large: at most 100", param_hint="--random-filter")
    return Selected(
        most=given["count"], duration_s=given["duration"], only_subscribe=given["exit_after_suback"],
        retained=True if given["retained_only"] else False if given["no_retained"] else None,
        remove_retained=given["remove_retained"], filter_out=given["filter_out"],
        random_percent=given["random_filter"],
    )  # fmt: skip


def subscribe_options(given: FlagValues) -> "SubscribeOptions":
    """Return how to receive; raises UsageError."""
    from ...live.receive import Answering
    from ...live.subscribe.subscriber import SubscribeOptions
    from ..flags.properties import need_version_5

    if given["reason"] is not None:
        need_version_5("--reason", given["mqtt_version"])
    if given["no_ack"] and (given["reason"] is not None or given["ack_delay"]):
        raise click.UsageError("--no-ack does not go with --reason and --ack-delay")
    timeout_s = given["timeout"] if given["duration"] is None else min(given["timeout"], given["duration"])
    return SubscribeOptions(
        timeout_s=timeout_s, reconnects=reconnects_of(given),
        answering=Answering(not given["no_ack"], given["ack_delay"], given["reason"]), force=given["force"],
    )  # fmt: skip


def output_form(given: FlagValues) -> OutputForm:
    """Return how messages are written; raises UsageError."""
    kind = _kind(given)
    format, reader = payload_format(given)
    if kind == RAW and (format or (given["file_save"] is None and given["pretty"])):
        raise click.UsageError("--raw does not go with --format")
    if given["pretty"] and kind != FORMAT:
        raise click.UsageError("--pretty needs -F")
    if kind == FORMAT:
        _check_format(given["output_format"])
    if given["file_write"] and given["file_save"]:
        raise click.UsageError("only one of --file-write and --file-save at a time")
    if given["file_save"] is not None and kind == LINES and not format:
        kind = RAW
    return OutputForm(
        kind=kind, delimiter=_delimiter(given, kind), format=given["output_format"] or "", pretty=given["pretty"],
        payload_format=format, reader=reader, raw=given["raw"] or (kind == LINES and bool(given["file_write"])),
        file=given["file_write"],
        folder_file=given["file_save"],
    )  # fmt: skip


def _kind(given: FlagValues) -> str:
    """Return what is written of each message; --raw goes with -F and -v too, where it leaves out the escapes."""
    named = {VERBOSE: "verbose", FORMAT: "output_format", JSON: "as_json", WATCH: "watch"}
    kinds = [kind for kind, key in named.items() if given[key] not in (None, False)]
    if kinds[1:]:
        raise click.UsageError("only one of -v, -F, --json and --watch at a time")
    if kinds and kinds[0] in (JSON, WATCH) and given["raw"]:
        raise click.UsageError(f"--raw does not go with --{kinds[0]}")
    if kinds == [WATCH]:
        _check_watch(given)
    return kinds[0] if kinds else RAW if given["raw"] else LINES


def _check_format(text: str) -> None:
    from .format_string import FormatError, FormatString

    try:
        FormatString(text)
    except FormatError as error:
        raise click.BadParameter(str(error), param_hint="--output-format") from None


def _check_watch(given: FlagValues) -> None:
    import sys

    for key, name in (("file_write", "--file-write"), ("file_save", "--file-save"), ("inspect", "--inspect"),
                      ("lint", "--lint")):  # fmt: skip
        if given[key]:
            raise click.UsageError(f"{name} does not go with --watch")
    if not sys.stdout.isatty():
        raise click.UsageError("--watch draws a table, but standard output is not a terminal")


def _delimiter(given: FlagValues, kind: str) -> bytes:
    text: str | None = given["delimiter"]
    if given["no_newline"]:
        if text is not None:
            raise click.UsageError("only one of --delimiter and --no-newline at a time")
        return b""
    if text is None:
        return b"" if kind == RAW or given["file_save"] else b"\n"
    if kind == JSON:
        raise click.UsageError("--delimiter does not go with --json, whose records are lines")
    return DELIMITERS.get(text.lower(), text.encode("utf-8", "surrogateescape"))
