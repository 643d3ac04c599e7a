"""How each message ended: for people, as JSON Lines, and as the exit status of the run."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...common.standard_input import is_interactive
from ...common.words import counted
from ...live.failures import Exit, Failure
from ...live.limits import Violation
from ...live.publish.publisher import Publisher
from ...live.publish.sender import OutgoingMessage, Publication
from ..notes import FirstNotes, note, print_failure, print_json
from .report import RunReport
from .request import PublishRequest

if TYPE_CHECKING:
    from ...view.terminal.progress import PublishProgress
    from ..observe.inspect import Inspector

LOST_AFTER = "because the connection was lost right after sending"
NO_SUBSCRIBERS = 0x10
UNREMARKABLE = frozenset((None, 0, NO_SUBSCRIBERS))
"""Reason Codes of messages of which nothing is said where many are published."""


class RunResult(NamedTuple):
    """What a run that was not broken off came to, in numbers of messages."""

    accepted: int = 0
    sent: int = 0
    """QoS 0 messages, which nothing acknowledges."""
    refused: int = 0
    """Messages that the broker refused, or that were not sent because of one of its limits."""
    unknown: int = 0
    no_subscribers: int = 0
    """Accepted messages with Reason Code 0x10."""
    unanswerable: int = 0
    """QoS 0 messages of a run that requires subscribers."""
    bad_lines: int = 0
    damaged: int = 0
    """Messages of an outbox that were not sent because they are damaged."""
    require_subscribers: bool = False

    @property
    def status(self) -> Exit:
        """The exit status of the run. That of a run that was broken off is the status of its Failure."""
        if self.refused or (self.no_subscribers and self.require_subscribers):
            return Exit.REFUSED
        if self.bad_lines:
            return Exit.USAGE
        if self.damaged:
            return Exit.NOT_WRITTEN
        if self.unknown or self.unanswerable:
            return Exit.UNKNOWN
        return Exit.DONE


class OutcomeReport(RunReport):
    """Counts and shows the outcomes of a run."""

    def __init__(self, request: PublishRequest, inspector: "Inspector | None" = None) -> None:
        self.request = request
        self.inspector = inspector
        self.is_single = len(request.packets) == 1 and not request.bulk.kind and request.bulk.repeat == 1
        self._counts = {"accepted": 0, "sent": 0, "refused": 0, "unknown": 0}
        self._bad_lines = self._no_subscribers = self._unanswerable = self._damaged = 0
        self._complain = FirstNotes(self.warn)
        self._only_counts = not (request.shown.json or request.bulk.require_subscribers or self.is_single)
        self._progress: PublishProgress | None = None
        self._last: list[str] = []
        """Sentences that go below the annotated dump of a single message."""

    # while the run lasts

    def begin(self, size_bytes: int | None) -> None:
        """Show progress where standard input is published in bulk; `size_bytes` is its length, where it is known."""
        if self.request.bulk.kind and not self.inspector and sys.stderr.isatty() and not is_interactive():
            from ...view.terminal.progress import PublishProgress

            self._progress = PublishProgress(sys.stderr, size_bytes)

    def take(self, publisher: Publisher) -> None:
        """Take the outcomes that there are, and show how far the run has come."""
        super().take(publisher)
        if self._progress:
            self._show_progress(self._progress, publisher)

    def _show_progress(self, progress: "PublishProgress", publisher: Publisher) -> None:
        counts, in_flight = self._counts, len(publisher.sender.open)
        ended = counts["accepted"] + counts["refused"] + counts["sent"]
        progress.update(
            sent=ended + publisher.in_batches + in_flight, in_flight=in_flight, acknowledged=counts["accepted"],
            refused=counts["refused"], read_bytes=publisher.source.position_bytes,
        )  # fmt: skip

    def bad_line(self, text: str) -> None:
        """Report a line of the input that is not a message."""
        self._bad_lines += 1
        self._complain(text)

    def damaged(self, path: str, numbers: Sequence[int]) -> None:
        """Report messages of an outbox that are not sent because they are damaged."""
        self._damaged = len(numbers)
        say = FirstNotes(self.warn, lambda more: f"{counted(more, 'more message is', 'more messages are')} damaged")
        for number in numbers:
            say(f"message {number} of the outbox '{path}' is damaged and is not sent")
        say.end()

    def ended(self, outgoing: OutgoingMessage) -> None:
        """Count a message and, unless only numbers are asked for, say how it ended."""
        if self._only_counts and outgoing.reason_code in UNREMARKABLE:
            # Nearly every message of bulk publishing; this bounds their number per second
            # (tests/benchmarks/publish.py).
            self._counts["sent" if outgoing.acked_at_s is None else "accepted"] += 1
            return
        outcome = outgoing.outcome
        self._counts[outcome] += 1
        if self.request.bulk.require_subscribers and not outgoing.qos:
            # An outbox of an earlier run may hold messages that nothing answers.
            self._unanswerable += 1
            self._complain(f"it is unknown whether '{outgoing.writer.packet.topic}' has subscribers: the QoS is 0")
        if self.request.shown.json:
            self._print(record(outgoing, outcome))
        if outgoing.reason_code == NO_SUBSCRIBERS:
            self._no_subscribers += 1
            self._say_no_subscribers(outgoing.writer.packet.topic)
        elif outcome == "refused":
            self._complain(f"the broker refused {self._name(outgoing)}: {outgoing.reason}")

    def not_sent(self, message: Publication, violation: Violation) -> None:
        """Report a message that a limit of the broker kept back."""
        self._counts["refused"] += 1
        self._complain(f"not sent: {violation.text}")
        if self.request.shown.json:
            packet = message.writer.packet
            self._print({
                "event": "message", "number": message.token, "topic": packet.topic, "qos": packet.qos,
                "retain": packet.retain, "payload_bytes": len(message.payload), "outcome": "not sent",
                "reason": violation.text,
            })  # fmt: skip

    def _say_no_subscribers(self, topic: str) -> None:
        if self.request.bulk.require_subscribers:
            self._complain(f"nobody subscribes to '{topic}' (0x10)")
        elif self.is_single and not self.request.shown.json and (self.request.shown.inspect or sys.stderr.isatty()):
            self.warn(f"accepted, but nobody subscribes to '{topic}' (0x10)")

    # the end

    def failure(self, failure: Failure, publisher: Publisher) -> None:
        """Report the failure or the signal that ends a run; what has no answer is unknown."""
        self.take(publisher)
        for outgoing in publisher.unknown:
            self._unknown(outgoing)
        if self.request.shown.json:
            self._print_summary()
            print_failure(failure)

    def end(self, publisher: Publisher) -> None:
        """Report what is left to report."""
        lost = publisher.sender.lost_in_batches
        self._counts["sent"] += publisher.in_batches - lost
        self._counts["unknown"] += lost
        if lost:
            self._complain(f"in doubt: {counted(lost, 'message')}, {LOST_AFTER}")
        for outgoing in publisher.unknown:
            why = "because the broker lost the session" if outgoing.qos else LOST_AFTER
            self._complain(f"in doubt: {self._name(outgoing)}, {why}")
            self._unknown(outgoing)
        self._complain.end()
        if self.request.shown.json:
            self._print_summary()

    @property
    def result(self) -> RunResult:
        """What the run came to."""
        return RunResult(
            **self._counts, no_subscribers=self._no_subscribers, unanswerable=self._unanswerable,
            bad_lines=self._bad_lines, damaged=self._damaged, require_subscribers=self.request.bulk.require_subscribers,
        )  # fmt: skip

    def close(self) -> None:
        """Remove the progress from the screen; the sentences that were kept for the end come last."""
        if self.inspector and self._last:
            self.inspector.flush()
        last, self._last = self._last, []
        for text in last:
            note(text)
        if self._progress:
            self._progress.close()

    def _unknown(self, outgoing: OutgoingMessage) -> None:
        self._counts["unknown"] += 1
        if self.request.shown.json:
            print_json(record(outgoing, "unknown"))

    def _print_summary(self) -> None:
        if not self.is_single:
            counts = {"bad_lines": self._bad_lines, "no_subscribers": self._no_subscribers}
            print_json({"event": "summary", **self._counts, **counts})

    # words

    def warn(self, text: str) -> None:
        """Say one sentence beside the progress, or below the packets that it is about."""
        self.hide()
        if self.inspector and self.is_single:
            self._last.append(text)
            return
        if self.inspector:
            self.inspector.flush()
        note(text)

    def hide(self) -> None:
        """Clear the progress from the screen until its next update."""
        if self._progress:
            self._progress.hide()

    def _print(self, values: dict[str, Any]) -> None:
        if self.inspector:
            self.inspector.flush()
        print_json(values)

    def _name(self, outgoing: OutgoingMessage) -> str:
        return "the message" if self.is_single else f"message {outgoing.token} to '{outgoing.writer.packet.topic}'"


def record(outgoing: OutgoingMessage, outcome: str) -> dict[str, Any]:
    """Return the JSON record of one message."""
    packet = outgoing.writer.packet
    values = {
        "event": "message", "number": outgoing.token, "topic": packet.topic, "qos": packet.qos,
        "retain": packet.retain, "packet_id": outgoing.packet_id, "payload_bytes": outgoing.payload_bytes,
        "outcome": outcome, "reason_code": outgoing.reason_code, "reason": outgoing.reason_name,
        "reason_string": outgoing.reason_string or None, "sent_at": round(outgoing.sent_at_s, 6),
        "latency_us": None if outgoing.latency_s is None else int(outgoing.latency_s * 1e6),
        "redeliveries": outgoing.sendings - 1 or None,
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}
