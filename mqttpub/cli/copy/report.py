"""What became of the messages of `copy`: counted, said, as JSON Lines, and as the exit status."""

import sys
from collections.abc import Sequence
from typing import Any

from ...common.escape import escape
from ...common.words import counted
from ...live.failures import Exit
from ...live.limits import Violation
from ...live.publish.publisher import Publisher
from ...live.publish.sender import OutgoingMessage, Publication
from ...live.receive import ReceivedMessage
from ..notes import FirstNotes, note, print_json
from ..pub.outcome import LOST_AFTER, record
from ..pub.report import RunReport
from .message import LeftOut, Looped
from .request import CopyRequest


class CopyReport(RunReport):
    """Counts the messages of a run."""

    def __init__(self, request: CopyRequest) -> None:
        self.settled: list[Any] = []
        """The tokens of the copies that have ended, however they did; who reads them clears the list."""
        self.counts = dict.fromkeys(("taken", "accepted", "sent", "refused", "unknown", "left_out", "dropped"), 0)
        self._damaged = 0
        self._most = request.most_messages
        self._json = request.shown.json
        self._complain = FirstNotes(lambda text: note(escape(text)))

    # messages

    def taken(self, count: int) -> None:
        """Count messages that came."""
        self.counts["taken"] += count

    def left_out(self, message: ReceivedMessage, why: LeftOut) -> None:
        """Count a message that is not copied, and say why unless it is a loop."""
        self.counts["left_out"] += 1
        if not isinstance(why, Looped):
            self._complain(f"not copied: {why}")
        if self._json:
            print_json({"event": "left out", "topic": message.topic, "reason": str(why)})

    def dropped(self, message: ReceivedMessage) -> None:
        """Count a QoS 0 message for which there is no room while the target is away."""
        self.counts["dropped"] += 1
        self._complain(f"a QoS 0 message to '{message.topic}' was dropped: too many wait for the target")

    def ended(self, outgoing: OutgoingMessage) -> None:
        """Count a copy that was sent, and say so where it was refused."""
        self.settled.append(outgoing.token)
        outcome = outgoing.outcome
        self.counts[outcome] += 1
        if outgoing.refused:
            topic = outgoing.writer.packet.topic
            self._complain(f"the target refused a message to '{topic}': {outgoing.reason}")
            self._print(outgoing, outcome)

    def not_sent(self, message: Publication, violation: Violation) -> None:
        """Count a copy that a limit of the target kept back."""
        self.settled.append(message.token)
        self.counts["refused"] += 1
        self._complain(f"not sent: {violation.text}")
        if self._json:
            topic = message.writer.packet.topic
            print_json({"event": "message", "topic": topic, "outcome": "not sent", "reason": violation.text})

    def in_doubt(self, outgoing: OutgoingMessage) -> None:
        """Count a copy of which nobody knows whether it arrived."""
        self.settled.append(outgoing.token)
        self.counts["unknown"] += 1
        why = "because the target lost the session" if outgoing.qos else LOST_AFTER
        self._complain(f"in doubt: a message to '{outgoing.writer.packet.topic}', {why}")
        self._print(outgoing, "unknown")

    def _print(self, outgoing: OutgoingMessage, outcome: str) -> None:
        if self._json:
            print_json(record(outgoing, outcome))

    def damaged(self, path: str, numbers: Sequence[int]) -> None:
        """Report messages of an outbox that are not sent because they are damaged."""
        self._damaged = len(numbers)
        if numbers:
            note(f"{counted(len(numbers), 'message')} of the outbox '{path}' cannot be read, and stay there")

    def warn(self, text: str) -> None:
        """Say one sentence."""
        note(text)

    # the end

    def finish(self, publisher: Publisher, waiting: int) -> None:
        """Print the counts; what has no answer yet is unknown, and `waiting` messages were not given."""
        unanswered = len(publisher.unknown)
        self.counts["unknown"] += unanswered
        self._complain.end()
        if self._json:
            print_json({"event": "summary", **self.counts, "waiting": waiting})
            sys.stdout.flush()
        elif any(self.counts.values()) or waiting:
            note(self.summary(waiting))

    def summary(self, waiting: int) -> str:
        """Return the counts as a sentence."""
        counts = self.counts
        words = {
            "refused": "refused", "unknown": "in doubt", "left_out": "left out", "dropped": "dropped",
        }  # fmt: skip
        given = counts["accepted"] + counts["sent"]
        parts = [f"{counted(counts['taken'], 'message')} taken, {given:,} given"]
        parts += [f"{counts[key]:,} {word}" for key, word in words.items() if counts[key]]
        if waiting:
            parts.append(f"{counted(waiting, 'message')} not given, which the source was not answered for")
        return ", ".join(parts)

    @property
    def status(self) -> Exit:
        """The exit status of a run that was not broken off."""
        counts = self.counts
        if counts["refused"]:
            return Exit.REFUSED
        if self._damaged:
            return Exit.NOT_WRITTEN
        if counts["unknown"] or counts["dropped"]:
            return Exit.UNKNOWN
        return Exit.FINDINGS if self._most is not None and counts["taken"] < self._most else Exit.DONE
