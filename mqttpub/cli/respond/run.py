"""What `respond` does with its request: subscribe, run a command for each request, publish what it prints."""

import os
import sys
import time
from collections import deque
from contextlib import closing
from typing import Any

import click

from ...codec.publish_writer import PublishWriter
from ...common.escape import escape
from ...common.times import duration
from ...common.words import counted
from ...live.failures import Exit, Interrupted
from ...live.limits import ServerLimits
from ...live.publish.sender import Publication, Sender
from ...live.receive import ReceivedMessage
from ...live.subscribe.subscriber import SubscribeOptions, Subscriber
from ...spec.declare import Property
from ...spec.properties import CORRELATION_DATA
from ...spec.versions import Version
from .. import signals
from ..notes import FirstNotes, note, print_json
from ..observe.observers import observed
from .accept import Accepted, NotAnswerable, accept, environment
from .command import CommandPool, CommandResult
from .request import RespondRequest

MOST_WAITING = 1000
"""Requests that may wait for a command; beyond them the oldest is dropped."""
MOST_WAITING_BYTES = 64 << 20


def respond(request: RespondRequest) -> int:
    """Answer requests until enough are answered, and return the exit status; raises a Failure, and UsageError."""
    return observed(request, lambda seen: Service(request, seen.observer).run())


class Service:
    """A run of `respond`."""

    def __init__(self, request: RespondRequest, observer: Any) -> None:
        self.request = request
        self.answered = self.unanswered = self.refused = 0
        self._complain = FirstNotes(lambda text: note(escape(text)))
        self._until_s = None if request.duration_s is None else time.monotonic() + request.duration_s
        self._begun = 0
        self._version = request.target.version
        self._pool = CommandPool(request.command, request.parallel)
        self._sender = Sender(self._version)
        self._subscriber = Subscriber(
            request.target, (request.subscribe,), SubscribeOptions(request.timeout_s, reconnects=request.reconnects),
            sender=self._sender, observer=observer, remark=note,
        )  # fmt: skip
        self._subscriber.wakes = self._pool.descriptor

    def run(self) -> Exit:
        """Answer requests; raises a Failure."""
        subscriber, announced = self._subscriber, False
        try:
            with closing(subscriber.run()) as turns:
                for messages in turns:
                    announced = announced or self._announce()
                    if subscriber.session is None:
                        # What was not sent is put into the output again on the next connection.
                        self._sender.output.clear()
                    else:
                        self._turn(messages)
                    if self._may_end():
                        subscriber.stop()
                    # Once the time is up only what runs is waited for, and the pool wakes the loop.
                    subscriber.wake_s = None if self._is_over() else self._until_s
        except KeyboardInterrupt:
            raise Interrupted(f"{signals.word()}; {self._summary()}", signals.status()) from None
        finally:
            self._pool.stop()
            self._complain.end()
        return self._status()

    def _announce(self) -> bool:
        if self._subscriber.session is None:
            return False
        if not self.request.shown.json:
            filters = ", ".join(f"'{each.filter}'" for each in self.request.subscribe.subscriptions)
            note(f"answering requests to {filters}")
        return True

    def _turn(self, messages: deque[ReceivedMessage]) -> None:
        for result in self._pool.take():
            self._answer(result)
        while messages and self._may_begin():
            self._begin(messages.popleft())
        self._drop(messages)
        self._check_acknowledgements()

    def _may_end(self) -> bool:
        """Whether no answer is to come: nothing new begins and nothing runs, or it could not be sent."""
        if self._subscriber.session is None:
            return self._is_over()
        return (self._has_enough() or self._is_over()) and not self._pool.active

    def _is_over(self) -> bool:
        return self._until_s is not None and time.monotonic() >= self._until_s

    def _has_enough(self) -> bool:
        return self.request.most_requests is not None and self._begun >= self.request.most_requests

    def _may_begin(self) -> bool:
        has_window = len(self._sender.open) + self._pool.active < self._sender.window
        return self._pool.has_room and has_window and not self._has_enough() and not self._is_over()

    def _begin(self, message: ReceivedMessage) -> None:
        self._begun += 1
        try:
            accepted = accept(message, self.request)
        except NotAnswerable as error:
            self._leave(message, str(error))
            return
        self._pool.start(accepted, message.payload, environment(message, os.environ))

    def _drop(self, messages: deque[ReceivedMessage]) -> None:
        """Drop the oldest requests where too many wait."""
        while len(messages) > MOST_WAITING or sum(len(each.payload) for each in messages) > MOST_WAITING_BYTES:
            self._leave(messages.popleft(), f"{counted(len(messages) + 1, 'request')} already wait")

    def _answer(self, result: CommandResult) -> None:
        accepted: Accepted = result.token
        if result.reason and not (self.request.answers_failures and result.status is not None):
            self._leave(accepted.message, f"the command failed: {result.reason}")
            return
        template = self.request.answer
        properties = template.properties
        if accepted.correlation is not None and self._version == Version.V5:
            properties = (*properties, Property(CORRELATION_DATA.id, accepted.correlation))
        qos = min(template.qos, accepted.message.qos)
        packet = template.replace(topic=accepted.topic, qos=qos, properties=properties)
        writer = PublishWriter(packet, self._version)
        connack = self._subscriber.connack
        if connack and (violation := ServerLimits.of(connack).violation(writer, result.output)):
            self._leave(accepted.message, violation.text)
            return
        now_s = time.time()
        self._sender.publish(Publication(writer, result.output), now_s)
        self.answered += 1
        self._show(accepted, result, now_s)

    def _check_acknowledgements(self) -> None:
        for ended in self._sender.take_ended():
            if ended.refused:
                self.refused += 1
                self._complain(
                    f"the broker refused the answer to '{ended.writer.packet.topic}': 0x{ended.reason_code or 0:02x}"
                )

    # messages and records

    def _show(self, accepted: Accepted, result: CommandResult, now_s: float) -> None:
        message = accepted.message
        took_ns = int(now_s * 1e9) - message.time_ns
        if self.request.shown.json:
            print_json({
                "event": "answered", "number": self.answered, "topic": message.topic, "response_topic": accepted.topic,
                "payload_bytes": len(message.payload), "answer_bytes": len(result.output), "status": result.status,
                "latency_us": took_ns // 1000,
            })  # fmt: skip
        elif self.request.verbose:
            where = f"{escape(message.topic)} -> {escape(accepted.topic)}"
            click.echo(f"{where}  {len(message.payload)} -> {counted(len(result.output), 'byte')}  {duration(took_ns)}")
        sys.stdout.flush()

    def _leave(self, message: ReceivedMessage, reason: str) -> None:
        self.unanswered += 1
        if self.request.shown.json:
            print_json({"event": "unanswered", "topic": message.topic, "reason": reason})
            sys.stdout.flush()
        self._complain(f"no answer to a request to '{message.topic}': {reason}")

    def _summary(self) -> str:
        left = f", {self.unanswered:,} left without an answer" if self.unanswered else ""
        return f"{counted(self.answered, 'request')} answered{left}"

    def _status(self) -> Exit:
        if self.refused:
            return Exit.REFUSED
        if self.request.most_requests is not None and self.answered < self.request.most_requests:
            note(self._summary())
            return Exit.FINDINGS
        return Exit.DONE
