"""Messages as lines: payload, topic and payload, or a format string.

What a peer sent is written unchanged where it is printable text; otherwise it is escaped, so that a line is a line and
a terminal stays as it was. Nothing is escaped for --raw.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...common.escape import escape
from ...common.strict_json import check_json, integer
from ...live.receive import ReceivedMessage
from .flags import FORMAT, JSON, RAW, VERBOSE, OutputForm

Writer = Callable[[Sequence[ReceivedMessage]], bytes]
"""Returns the bytes for some messages."""
Complain = Callable[[ReceivedMessage, str], None]
"""Called with a message whose payload is not of the format and the reason, or with a remark on its payload."""


def shown(data: bytes) -> bytes:
    """Return printable text unchanged, and anything else with escapes for what is not printable and backslashes."""
    text = data.decode("utf-8", "surrogateescape")
    return data if text.isprintable() else escape(text).encode()


def writer(written: OutputForm, complain: Complain, remark: Complain) -> Writer:
    """Return the function that writes messages as a request asks; raises FormatError.

    `remark` is called for what a payload has that its line does not show; records have their remarks in themselves.
    """
    delimiter = written.delimiter
    if written.kind == RAW:
        return lambda messages: b"".join([message.payload + delimiter for message in messages])
    if written.kind == FORMAT:
        from .format_string import FormatString

        form = FormatString(written.format, shown=_unchanged if written.raw else shown, pretty=written.pretty)
        return lambda messages: b"".join([form.write(message) + delimiter for message in messages])
    payload = _payload(written, complain, remark)
    if written.kind == JSON:
        return _records(written, complain)
    if written.kind == VERBOSE:
        return lambda messages: b"".join(
            [_topic(message) + b" " + payload(message) + delimiter for message in messages]
        )
    if written.reader is None and not written.raw:
        return _quick(payload, delimiter)
    return lambda messages: b"".join([payload(message) + delimiter for message in messages])


def _unchanged(data: bytes) -> bytes:
    return data


def _topic(message: ReceivedMessage) -> bytes:
    return shown(message.topic.encode("utf-8", "surrogateescape"))


def _quick(payload: Callable[[ReceivedMessage], bytes], delimiter: bytes) -> Writer:
    """Return a writer that looks at all payloads at once, as most are printable (tests/benchmarks/subscribe.py)."""

    def write(messages: Sequence[ReceivedMessage]) -> bytes:
        payloads = [message.payload for message in messages]
        joined = b"".join(payloads)
        if joined.isascii() and joined.decode("ascii").isprintable():
            payloads.append(b"")
            return delimiter.join(payloads)
        return b"".join([payload(message) + delimiter for message in messages])

    return write


def _payload(written: OutputForm, complain: Complain, remark: Complain) -> Callable[[ReceivedMessage], bytes]:
    read = written.reader
    if read is None:
        return (lambda message: message.payload) if written.raw else (lambda message: shown(message.payload))

    as_text = written.payload_format in ("text", "hex", "base64")
    is_json = written.payload_format == "json"

    def text(message: ReceivedMessage) -> bytes:
        try:
            if is_json:
                return _json_line(message.payload)
            value, remarks = read(message.payload)
            made = shown(value.encode()) if as_text else _line_of(value)
        except (ValueError, RecursionError) as error:
            complain(message, _reason(error, written.payload_format))
            return shown(message.payload)
        for each in remarks:
            remark(message, each)
        return made

    return text


def _reason(error: Exception, format: str) -> str:
    # Python reads JSON that is nested a little deeper than what it writes.
    return str(error) if isinstance(error, ValueError) else f"{format}: the value is nested too deeply"


def _line_of(value: Any) -> bytes:
    """Return a value as JSON on one line."""
    import json

    text = json.dumps(value, ensure_ascii=False)
    return (text if text.isprintable() else json.dumps(value)).encode()


def _json_line(data: bytes) -> bytes:
    """Return JSON on one line, with its digits unchanged where it is on one already; raises ValueError."""
    import json

    try:
        check_json(data)
    except ValueError as error:
        raise ValueError(f"json: {error}") from None
    text = data.decode().strip()
    return text.encode() if text.isprintable() else _line_of(json.loads(text, parse_int=integer))


def _records(written: OutputForm, complain: Complain) -> Writer:
    from .records import line as record_line
    from .records import member

    read = written.reader

    def record(message: ReceivedMessage) -> bytes:
        if read is None:
            return record_line(message)
        try:
            value, remarks = read(message.payload)
            return record_line(message, member(value, written.payload_format), remarks)
        except (ValueError, RecursionError) as error:
            complain(message, _reason(error, written.payload_format))
            return record_line(message)

    return lambda messages: b"".join([record(message) + b"\n" for message in messages])
