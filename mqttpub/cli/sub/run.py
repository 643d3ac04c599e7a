"""What `sub` does with its request: judge, connect, subscribe, write what arrives, report."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Protocol

from ...codec.publish_writer import PublishWriter
from ...common.standard_input import is_interactive
from ...common.system import GIVES_KEYS
from ...common.words import counted
from ...live.failures import Exit, Interrupted
from ...live.publish.sender import Publication, Sender
from ...live.receive import ReceivedMessage
from ...live.subscribe.subscriber import Subscriber
from ...live.tap import Observer
from ...spec.packets import Publish
from .. import signals
from ..notes import FirstNotes, note
from ..observe.observers import observers
from .flags import JSON, WATCH
from .lines import Writer, writer
from .request import ReceiveRequest
from .standard_output import StandardOutput
from .wanted import Wanted

if TYPE_CHECKING:
    from .board import TopicBoard
    from .files import NumberedFiles


def subscribe(request: ReceiveRequest) -> int:
    """Receive the messages of a request and return the exit status; raises a Failure, and UsageError."""
    with ExitStack() as stack:
        return Reception(request, stack).run()


class Reception:
    """A run of `sub`; `observer`, `remark` and `output` take the place of what the request asks for."""

    def __init__(
        self, request: ReceiveRequest, stack: ExitStack, *, observer: Observer | None = None,
        remark: Callable[[str], None] | None = None,
        output: "Callable[[StandardOutput], MessageSink] | None" = None,
    ) -> None:  # fmt: skip
        self._request = request
        self._until_s = _moment(request.selected.duration_s)
        self._wanted = Wanted(request.selected)
        say: Callable[[str], None] = note
        self._standard = StandardOutput(self._until_s)
        if output is None:
            own = MessageOutput(request, stack, self._standard)
            self._output: MessageSink = own
            say = own.remark
        else:
            self._output = output(self._standard)
        version = request.target.version
        self._observers = observers(request, stack)
        self._inspector = self._observers.inspector
        self._sender = Sender(version) if request.selected.remove_retained else None
        self._quits = False
        """Whether the user asked for the end."""
        self._to_remove: deque[str] = deque()
        """Topics of retained messages that were written and are not removed yet."""
        self._subscriber = Subscriber(
            request.target, request.subscribes, request.options, unsubscribes=request.unsubscribes,
            sender=self._sender, observer=observer or self._observers.observer,
            remark=remark or (self._inspector.remark if self._inspector else say),
        )  # fmt: skip

    def run(self) -> int:
        """Receive until enough has come; raises a Failure."""
        subscriber, output = self._subscriber, self._output
        target = self._request.target
        if self._inspector:
            said = f"connecting to {target.place} as {target.connect.client_id!r}, MQTT {target.version.label}"
            self._inspector.remark(said)
        try:
            with closing(output), closing(subscriber.run()) as turns:
                for messages in turns:
                    picked = [] if self._request.selected.only_subscribe else self._wanted.pick(messages)
                    if picked:
                        output.write(picked)
                        if self._sender:
                            self._to_remove += [each.topic for each in picked if each.retain and each.payload]
                    self._quits = output.turn() or self._quits
                    if self._sender:
                        self._remove(self._sender)
                    if self._request.selected.only_subscribe:
                        # What has an acknowledgement stays with the broker.
                        while messages and not messages[0].qos:
                            messages.popleft()
                    if self._ends() and not self._to_remove:
                        self._stop()
                    subscriber.wake_s = self._until_s
        except KeyboardInterrupt:
            count = counted(self._wanted.count, "message")
            said = f"{signals.word()}; {count} received{self._standard.missing}"
            raise Interrupted(said, signals.status()) from None
        return self._status()

    def _ends(self) -> bool:
        selected = self._request.selected
        if self._quits or self._wanted.enough or (self._until_s is not None and time.monotonic() >= self._until_s):
            return True
        only_unsubscribes = not self._request.subscribes
        return (selected.only_subscribe or only_unsubscribes) and self._subscriber.connections > 0

    def _stop(self) -> None:
        self._subscriber.stop()

    def _remove(self, sender: Sender) -> None:
        """Publish an empty retained message to the topics of retained messages."""
        session, version = self._subscriber.session, self._request.target.version
        while session and self._to_remove and len(sender.open) < sender.window:
            packet = Publish(topic=self._to_remove.popleft(), qos=1, retain=True)
            sender.publish(Publication(PublishWriter(packet, version), b""), time.time())
        if session:
            session.send_output()

    def _status(self) -> int:
        selected, subscriber = self._request.selected, self._subscriber
        if self._inspector and (most := subscriber.receiver.most_unanswered):
            self._inspector.remark(f"at most {counted(most, 'message')} waited for our acknowledgement at once")
        refused_removals = self._report_removals()
        if subscriber.refusals or refused_removals:
            return Exit.REFUSED
        if selected.most is not None and self._wanted.count < selected.most and not selected.only_subscribe:
            is_over = self._until_s is not None and time.monotonic() >= self._until_s
            within = f" within {selected.duration_s:g} s" if is_over else ""
            note(f"{self._wanted.count} of {counted(selected.most, 'message')} came{within}")
            return Exit.FINDINGS
        if self._output.unreadable:
            return Exit.FINDINGS
        return self._observers.status(Exit.DONE)

    def _report_removals(self) -> int:
        refused = [each for each in self._sender.take_ended() if each.refused] if self._sender else []
        say = FirstNotes(note)
        for each in refused:
            topic = each.writer.packet.topic
            say(f"the broker refused to remove the retained message of '{topic}': 0x{each.reason_code or 0:02x}")
        say.end()
        return len(refused)


def _moment(duration_s: float | None) -> float | None:
    return None if duration_s is None else time.monotonic() + duration_s


class MessageSink(Protocol):
    """Takes the messages of a run; the bodies here are those of a sink that only writes."""

    @property
    def unreadable(self) -> int:
        """Number of payloads that are not of the format."""
        return 0

    def write(self, messages: Sequence[ReceivedMessage]) -> None:
        """Write messages; raises OSError."""

    def turn(self) -> bool:
        """Do what is to be done from time to time; return whether the user asked for the end."""
        return False

    def close(self) -> None:
        """Write what is left to write."""
        return


class MessageOutput(MessageSink):
    """Writes messages where a request asks for; what was written before `turn` is not lost by a crash."""

    def __init__(self, request: ReceiveRequest, stack: ExitStack, standard: StandardOutput) -> None:
        written = request.written
        self._unreadable = FirstNotes(note, lambda more: f"{counted(more, 'more payload')} like these")
        self._remarks = FirstNotes(note, lambda more: f"{counted(more, 'more remark')} like these")
        self._format = written.payload_format
        self._write = writer(written, self._complain, self._remark)
        self._files = _files(written.folder_file, self._write) if written.folder_file else None
        self._board = _board(stack) if written.kind == WATCH else None
        self._put: Callable[[bytes], object] | None = None
        if self._files or self._board:
            return
        if written.file is not None:
            from .files import appending

            self._put = appending(written.file, stack)
        elif written.kind == JSON or not request.shown.inspect:
            self._put = standard.write

    def write(self, messages: Sequence[ReceivedMessage]) -> None:
        """Write messages; raises OSError."""
        if self._board:
            self._board.take(messages)
        elif self._files:
            self._files.save(messages)
        elif self._put:
            self._put(self._write(messages))

    def remark(self, text: str) -> None:
        """Say one sentence where it does not disturb the messages."""
        (self._board.remark if self._board else note)(text)

    def turn(self) -> bool:
        """Draw what is drawn from time to time; return whether the user asked for the end."""
        if not self._board:
            return False
        if self._board.due():
            self._board.draw()
        return self._board.quits()

    def close(self) -> None:
        """Draw for the last time, and count the payloads and remarks that were not named."""
        if self._board:
            self._board.close()
        self._unreadable.end()
        self._remarks.end()

    @property
    def unreadable(self) -> int:
        """Number of payloads that are not of the format."""
        return self._unreadable.count

    def _complain(self, message: ReceivedMessage, text: str) -> None:
        self._unreadable(f"the payload of a message to '{message.topic}' is written as it is: {text}")

    def _remark(self, message: ReceivedMessage, text: str) -> None:
        self._remarks(f"the payload of a message to '{message.topic}': {text}")


# what few runs need


def _files(path: str, write: Writer) -> "NumberedFiles":
    from .files import NumberedFiles

    return NumberedFiles(path, write)


def _board(stack: ExitStack) -> "TopicBoard":
    from .board import TopicBoard

    if not (GIVES_KEYS and is_interactive()):
        return TopicBoard()
    from .keyboard import Keyboard

    return TopicBoard(stack.enter_context(Keyboard()))
