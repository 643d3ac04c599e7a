"""What a run of publishing says: the part that our own words and those of other clients share."""

from collections.abc import Sequence
from typing import Protocol

from ...live.failures import Failure
from ...live.limits import Violation
from ...live.publish.publisher import Publisher
from ...live.publish.sender import NotSent, OutgoingMessage, Publication


class RunReport(Protocol):
    """Takes what becomes of the messages of a run; the bodies here are those of a report without progress."""

    def begin(self, size_bytes: int | None) -> None:
        """Begin to show progress; `size_bytes` is the length of the input, where it is known."""
        return

    def take(self, publisher: Publisher) -> None:
        """Take the outcomes that there are."""
        outcomes = publisher.outcomes
        while outcomes:
            outcome = outcomes.popleft()
            if isinstance(outcome, NotSent):
                self.not_sent(outcome.message, outcome.violation)
            else:
                self.ended(outcome)

    def ended(self, outgoing: OutgoingMessage) -> None:
        """Report the end of a message that was sent."""
        return

    def not_sent(self, message: Publication, violation: Violation) -> None:
        """Report a message that a limit of the broker kept back."""
        return

    def bad_line(self, text: str) -> None:
        """Report a line of the input that is not a message."""
        return

    def damaged(self, path: str, numbers: Sequence[int]) -> None:
        """Report messages of an outbox that are not sent because they are damaged."""
        return

    def warn(self, text: str) -> None:
        """Say one sentence beside the outcomes."""
        return

    def failure(self, failure: Failure, publisher: Publisher) -> None:
        """Report the failure or the signal that ends a run."""
        return

    def end(self, publisher: Publisher) -> None:
        """Report what is left to report."""
        return

    def close(self) -> None:
        """End what is shown."""
        return
