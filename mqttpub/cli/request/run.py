"""What `request` does with its request: ask, print the answers, report the latency."""

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ...common.quantiles import Latencies
from ...common.times import duration
from ...common.words import counted
from ...live.failures import Exit, Interrupted
from ...live.receive import ReceivedMessage
from ...live.request.requester import Answer, Requester
from ...spec.properties import RESPONSE_INFORMATION, value_of
from ...view.packet.record_json import dumps
from .. import signals
from ..notes import note, print_json
from ..observe.observers import observed
from ..sub.lines import writer
from ..sub.records import record
from .request import AskRequest

if TYPE_CHECKING:
    from ..observe.inspect import Inspector

PERCENTILES = (50, 95, 99)


def ask(request: AskRequest) -> int:
    """Ask, print the answers and return the exit status; raises a Failure, and UsageError."""
    return observed(request, lambda seen: Asking(request, seen.inspector, seen.observer).run())


class Asking:
    """A run of `request`."""

    def __init__(self, request: AskRequest, inspector: "Inspector | None", observer: Any) -> None:
        self.request = request
        self.inspector = inspector
        self.latencies = Latencies()
        self.unreadable = 0
        """Number of answers whose payload is not of the format."""
        self._write = writer(request.written, self._complain, self._remark)
        self._requester = Requester(
            request.target, request.packet, request.options, observer=observer,
            remark=inspector.remark if inspector else note, packets=request.packets,
        )  # fmt: skip

    def run(self) -> Exit:
        """Ask and print; raises a Failure."""
        try:
            with closing(self._requester.run()) as answers:
                for answer in answers:
                    self.latencies.add(answer.latency_ns)
                    self._print(answer)
        except KeyboardInterrupt:
            raise Interrupted(f"{signals.word()}; {self._summary()}", signals.status()) from None
        self._flush()
        self._report()
        return Exit.FINDINGS if self._requester.unanswered or self.unreadable else Exit.DONE

    def _print(self, answer: Answer) -> None:
        self._flush()
        if self.request.shown.json:
            made = record(answer.message)
            made["received"] |= {"request": answer.round.number, "latency_us": answer.latency_ns // 1000}
            sys.stdout.write(dumps(made) + "\n")
            sys.stdout.flush()
            return
        sys.stdout.buffer.write(self._write([answer.message]))
        sys.stdout.buffer.flush()

    def _complain(self, message: ReceivedMessage, text: str) -> None:
        self.unreadable += 1
        note(f"the payload of an answer is written as it is: {text}")

    def _remark(self, message: ReceivedMessage, text: str) -> None:
        note(f"the payload of an answer: {text}")

    def _report(self) -> None:
        requester, request = self._requester, self.request
        connack = requester.connack
        if request.asks_response_information and connack and not value_of(connack.properties, RESPONSE_INFORMATION):
            note("the broker gave no Response Information")
        known = {f"p{percent}": self.latencies.percentile(percent) for percent in PERCENTILES}
        known = {"min": self.latencies.least, **known, "max": self.latencies.most} if self.latencies.count else {}
        if request.shown.json and request.options.rounds == 1:
            return
        if request.shown.json:
            print_json({
                "event": "summary", "requests": requester.complete + len(requester.unanswered),
                "complete": requester.complete, "answers": self.latencies.count, "strangers": requester.strangers,
                "latency_us": {key: ns // 1000 for key, ns in known.items()},
            })  # fmt: skip
            return
        note(self._summary())
        if self.latencies.count > 1:
            note("latency: " + ", ".join(f"{key} {duration(ns)}" for key, ns in known.items()))

    def _summary(self) -> str:
        requester, options = self._requester, self.request.options
        strangers = f"; {counted(requester.strangers, 'message')} on the topic of the answers belonged to no request"
        more = strangers if requester.strangers else ""
        if options.rounds == 1 and self.latencies.count == options.answers == 1:
            return f"answered after {duration(self.latencies.most)}{more}"
        late = len(requester.unanswered)
        unanswered = f", {late:,} not within {options.wait_s:g} s" if late else ""
        if options.rounds == 1 and options.answers > 1:
            return f"{self.latencies.count} of {counted(options.answers, 'answer')} came{more}"
        if options.rounds == 1 and late:
            return f"no answer within {options.wait_s:g} s{more}"
        return f"{requester.complete:,} of {counted(options.rounds, 'request')} answered{unanswered}{more}"

    def _flush(self) -> None:
        if self.inspector:
            self.inspector.flush()
