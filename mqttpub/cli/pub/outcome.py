"""How each message ended: for people, as JSON Lines, and as an exit status."""

import sys
from typing import Any

import click

from ...common.standard_input import is_interactive
from ...live.failures import Exit, Failure
from ...live.publish.flows import NO_SUBSCRIBERS, Exchange, Message
from ...live.publish.publisher import Publisher
from ...spec.reason_codes import Codes
from ...spec.versions import Version
from ..notes import note
from .request import PublishRequest

MOST_NOTES = 10
"""Refusals that are named one by one; the others are counted."""
CODES = {1: Codes("PUBACK"), 2: Codes("PUBREC")}


class Report:
    """Counts the outcomes of a run and says them."""

    def __init__(self, request: PublishRequest, inspector: Any = None) -> None:
        self.request = request
        self.version = request.target.version
        self.inspector = inspector
        self.alone = len(request.packets) == 1 and not request.bulk.kind and request.bulk.repeat == 1
        self.bad_lines = 0
        self._progress: Any = None
        self._watched: Any = None
        self.counts = {"accepted": 0, "sent": 0, "refused": 0, "unknown": 0}
        self.nobody = 0
        self.unanswerable = 0
        self.notes = 0
        self._last: list[str] = []
        """Sentences that stand under the annotated dump of a single message."""

    def watch(self, publisher: Publisher, source: Any) -> None:
        """Take what there is to follow while the run goes on."""
        publisher.turned_away = self.turned_away
        if self.request.bulk.kind and not self.inspector and sys.stderr.isatty() and not is_interactive():
            from ...view.terminal.progress import Progress

            self._watched = publisher, source
            self._progress = Progress(sys.stderr, getattr(source, "size", None))
            publisher.tick = self._tick

    def _tick(self) -> None:
        publisher, source = self._watched
        done = self.counts["accepted"] + self.counts["refused"] + self.counts["sent"]
        self._progress.update(
            sent=done + publisher.in_batches + len(publisher.sender.open), in_flight=len(publisher.sender.open),
            acknowledged=self.counts["accepted"], refused=self.counts["refused"],
            read_bytes=getattr(source, "position", None),
        )  # fmt: skip

    def close(self) -> None:
        """Leave the screen as a program should; the sentences that were kept for the end come last."""
        if self.inspector and self._last:
            self.inspector.flush()
        last, self._last = self._last, []
        for text in last:
            note(text)
        if self._progress:
            self._progress.close()

    def bad_line(self, text: str) -> None:
        """Take a line of the input that is no message."""
        self.bad_lines += 1
        self._complain(text)

    def exchange(self, exchange: Exchange) -> None:
        """Take one exchange that has ended."""
        outcome = "refused" if exchange.refused else "accepted" if exchange.acked_at else "sent"
        self.counts[outcome] += 1
        self.nobody += exchange.reason_code == NO_SUBSCRIBERS
        if self.request.bulk.require_subscribers and not exchange.qos:
            # An outbox of an earlier run may hold messages that nothing answers.
            self.unanswerable += 1
            self._complain(f"nobody can know whether '{exchange.writer.packet.topic}' has subscribers: the QoS is 0")
        if self.request.json:
            self._record(exchange, outcome)
        if outcome == "refused":
            self._complain(f"the broker refused {_named(exchange, self.alone)}: {_words(exchange, self.version)}")
        elif exchange.reason_code == NO_SUBSCRIBERS:
            self._nobody(exchange)

    def turned_away(self, message: Message, reason: str) -> None:
        """Take a message that was not sent because of a limit of the broker."""
        self.counts["refused"] += 1
        self._complain(f"not sent: {reason}")
        if self.request.json:
            packet = message.writer.packet
            values = {
                "event": "message", "number": message.token, "topic": packet.topic, "qos": packet.qos,
                "retain": packet.retain, "payload_bytes": len(message.payload), "outcome": "not sent", "reason": reason,
            }  # fmt: skip
            self._print(values)

    def _nobody(self, exchange: Exchange) -> None:
        topic = exchange.writer.packet.topic
        if self.request.bulk.require_subscribers:
            self._complain(f"nobody subscribes to '{topic}' (0x10)")
        elif self.alone and not self.request.json and self._talkative:
            self.warn(f"accepted, but nobody subscribes to '{topic}' (0x10)")

    @property
    def _talkative(self) -> bool:
        return self.request.inspect or sys.stderr.isatty()

    def _record(self, exchange: Exchange, outcome: str) -> None:
        self._print(record(exchange, outcome, self.version))

    def _print(self, values: dict[str, Any]) -> None:
        if self.inspector:
            self.inspector.flush()
        print_json(values)

    def _complain(self, text: str) -> None:
        self.notes += 1
        if self.notes <= MOST_NOTES:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Say one sentence beside the progress, or below the packets that it is about."""
        self.hide()
        if self.inspector and self.alone:
            self._last.append(text)
            return
        if self.inspector:
            self.inspector.flush()
        note(text)

    def hide(self) -> None:
        """Make room on the screen for what somebody says."""
        if self._progress:
            self._progress.hide()

    def failure(self, failure: Failure, publisher: Publisher) -> None:
        """Take the failure or the signal that ends a run; what has no answer is unknown."""
        for exchange in publisher.finished():
            self.exchange(exchange)
        self._unknown(publisher)
        if self.request.json:
            print_json({"event": "failure", "status": int(failure.status), "message": str(failure)})

    def _unknown(self, publisher: Publisher) -> None:
        for exchange in (*publisher.doubtful, *publisher.sender.open.values()):
            self.counts["unknown"] += 1
            if self.request.json:
                print_json(record(exchange, "unknown", self.version))
        if self.request.json and not self.alone:
            self._summary()

    def end(self, publisher: Publisher) -> Exit:
        """Say what is left to say and return the exit status."""
        self.counts["sent"] += publisher.in_batches
        for exchange in publisher.doubtful:
            self.counts["unknown"] += 1
            self._complain(f"in doubt: {_named(exchange, self.alone)}, for the broker lost the session")
            if self.request.json:
                print_json(record(exchange, "unknown", self.version))
        if self.notes > MOST_NOTES:
            note(f"{self.notes - MOST_NOTES} more like these")
        if self.request.json and not self.alone:
            self._summary()
        return self._status()

    def _summary(self) -> None:
        print_json({"event": "summary", **self.counts, "bad_lines": self.bad_lines, "no_subscribers": self.nobody})

    def _status(self) -> Exit:
        if self.counts["refused"] or (self.nobody and self.request.bulk.require_subscribers):
            return Exit.REFUSED
        if self.bad_lines:
            return Exit.USAGE
        return Exit.UNKNOWN if self.counts["unknown"] or self.unanswerable else Exit.DONE


def record(exchange: Exchange, outcome: str, version: Version) -> dict[str, Any]:
    """Return the JSON record of one message."""
    packet = exchange.writer.packet
    values = {
        "event": "message", "number": exchange.token, "topic": packet.topic, "qos": packet.qos,
        "retain": packet.retain, "packet_id": exchange.packet_id, "payload_bytes": exchange.payload_bytes,
        "outcome": outcome, "reason_code": exchange.reason_code, "reason": _name(exchange, version),
        "reason_string": exchange.reason_string or None, "sent_at": round(exchange.sent_at, 6),
        "latency_us": None if exchange.seconds is None else int(exchange.seconds * 1e6),
        "redeliveries": exchange.sendings - 1 or None,
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}


def _name(exchange: Exchange, version: Version) -> str | None:
    if exchange.reason_code is None:
        return None
    return CODES[exchange.qos].name(exchange.reason_code, version)


def _words(exchange: Exchange, version: Version) -> str:
    said = f": {exchange.reason_string}" if exchange.reason_string else ""
    return f"0x{exchange.reason_code or 0:02x} {_name(exchange, version)}{said}"


def _named(exchange: Exchange, alone: bool) -> str:
    return "the message" if alone else f"message {exchange.token} to '{exchange.writer.packet.topic}'"


def print_json(values: dict[str, Any]) -> None:
    """Print one record as a line."""
    import json

    from ...common.escape import json_text

    shown = {key: json_text(value) if isinstance(value, str) else value for key, value in values.items()}
    click.echo(json.dumps(shown, separators=(",", ":")))
