"""mosquitto_pub: its settings become the request of `pub`, its outcomes the words and statuses of mosquitto."""

import sys
from contextlib import ExitStack

from ....codec.publish_writer import PublishWriter
from ....live.failures import Failure, Interrupted
from ....live.limits import Violation
from ....live.publish.publisher import Publisher, PublishOptions
from ....live.publish.sender import OutgoingMessage, Publication
from ....live.publish.sources import ChangedSource, MessageSource, PayloadBatch
from ....spec.packets import Publish
from ....spec.properties import TOPIC_ALIAS, value_of
from ...pub.feed import feed
from ...pub.report import RunReport
from ...pub.request import BulkRequest, PublishRequest
from ...pub.run import transfer
from ..given import timeout_s
from .client import connectable, debug_lines, said
from .failures import SENTENCES, Outcome, Status, outcome
from .settings import PUB, GrammarError, MosquittoSettings
from .target import target_of

MOST_BYTES = 268_435_455
INVALID_TOPIC = "Error: Invalid input. Does your topic contain '+' or '#'?"
QOS_TOO_HIGH = "Error: Message QoS not supported on broker, try a lower QoS."
NO_MESSAGE = "Error: Both topic and message must be supplied."


def run(words: list[str]) -> int:
    """Publish as a line of mosquitto_pub says and return the exit status."""
    return said(PUB, words, publish)


def publish(settings: MosquittoSettings) -> None:
    """Publish what the settings say; raises GrammarError and Outcome."""
    request = _request(settings)
    target = request.target
    connectable(target)
    with ExitStack() as stack:
        report = MosquittoReport(quiet=settings.quiet)
        source = feed(request, target, report, stack).source
        if value_of(settings.of("PUBLISH"), TOPIC_ALIAS) is not None:
            source = TopicOnce(source)
        publisher = Publisher(target, source, _options(settings, request), observer=debug_lines(settings, target))
        try:
            transfer(publisher, report)
        except Interrupted:
            raise
        except Failure as failure:
            raise outcome(failure, target.version) from failure
    if report.failed:
        raise report.failed


def _options(settings: MosquittoSettings, request: PublishRequest) -> PublishOptions:
    # A repeat waits for the end of the message before it.
    lines = settings.source == "lines"
    window = 1 if settings.repeat > 1 else settings.max_inflight
    return PublishOptions(
        timeout_s=request.timeout_s, window=window, any_alias=True, probes=False, persists=lines,
        reconnects=None if lines else 0,
    )  # fmt: skip


# the request


def _request(settings: MosquittoSettings) -> PublishRequest:
    payload = payload_of(settings)
    if settings.topic is None or not settings.source:
        raise GrammarError(NO_MESSAGE, with_usage=True)
    if not settings.topic:
        raise Outcome(Status.INVALID, INVALID_TOPIC)
    packet = Publish(
        topic=settings.topic, payload=payload, qos=settings.qos, retain=settings.retain,
        properties=settings.of("PUBLISH"),
    )  # fmt: skip
    lines = settings.source == "lines"
    bulk = BulkRequest(
        kind="lines" if lines else "", repeat=1 if lines else settings.repeat, delay_s=settings.repeat_delay_s
    )
    return PublishRequest(packets=(packet,), target=target_of(settings), timeout_s=timeout_s(), bulk=bulk, force=True)


def payload_of(settings: MosquittoSettings) -> bytes:
    """Return the payload that the settings name; raises Outcome for one that cannot be read."""
    if settings.source == "file":
        return _file(settings.file)
    if settings.source == "stdin":
        return _standard_input()
    return settings.payload


def _file(path: str) -> bytes:
    failed = f'Error loading input file "{path}".'
    too_long = Outcome(Status.USAGE, f"Error: File must be less than {MOST_BYTES} bytes.", "", failed)
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except IsADirectoryError:
        # The client takes a directory for a file that is too long.
        raise too_long from None
    except OSError as error:
        raise Outcome(Status.USAGE, f'Error: Unable to read file "{path}": {error.strerror}.', failed) from None
    if len(data) > MOST_BYTES:
        raise too_long
    return data


def _standard_input() -> bytes:
    failed = "Error loading input from stdin."
    try:
        data = sys.stdin.buffer.read(MOST_BYTES + 1) if sys.stdin else b""
    except OSError as error:
        raise Outcome(Status.USAGE, f"Error: Unable to read stdin: {error.strerror}.", failed) from None
    if not data:
        raise Outcome(Status.USAGE, "Error: Zero length input.", failed)
    if len(data) > MOST_BYTES:
        raise Outcome(Status.USAGE, f"Error: Message length must be less than {MOST_BYTES} bytes.", "", failed)
    return data


# what is sent, and what becomes of it


class TopicOnce(ChangedSource):
    """Another source whose messages, all but the first, leave their topic to the Topic Alias that they carry."""

    def __init__(self, source: MessageSource) -> None:
        super().__init__(source)
        self._writer: PublishWriter | None = None
        self._kept: PayloadBatch | None = None
        """What follows the first message of all in its batch."""

    @property
    def ended(self) -> bool:
        """Whether the source ended and all of it was taken."""
        return self._source.ended and not self._kept

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return what the source has; only the first message of all has its topic."""
        return [each._replace(writer=self._written(each.writer)) for each in self._source.take(most, now_s)]

    def batch(self) -> PayloadBatch | None:
        """Return a batch of the source; the first of all has one message."""
        taken, self._kept = self._kept or super().batch(), None
        if not taken or not taken.payloads:
            return taken
        if not self._writer:
            first, *rest = taken.payloads
            self._kept = taken._replace(payloads=rest) if rest else None
            taken = taken._replace(payloads=[first])
        return taken._replace(writer=self._written(taken.writer))

    def _written(self, writer: PublishWriter) -> PublishWriter:
        """Return the writer of a message: that of the source for the first of all."""
        if self._writer:
            return self._writer
        self._writer = PublishWriter(writer.packet.replace(topic=""), writer.version)
        return writer


class MosquittoReport(RunReport):
    """Says of each message what mosquitto_pub says."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self.failed: Outcome | None = None
        """Why not every message was sent."""

    def bad_line(self, text: str) -> None:
        """Count a line that is not a message."""
        self.failed = Outcome(Status.TOO_LARGE, f"Error: {text}")

    def ended(self, outgoing: OutgoingMessage) -> None:
        """Warn of a message that the broker refused."""
        if outgoing.refused and not self._quiet:
            sys.stderr.write(f"Warning: Publish {outgoing.packet_id} failed: {outgoing.reason_name}.\n")

    def not_sent(self, message: Publication, violation: Violation) -> None:
        """Keep the sentence about a limit of the broker."""
        if violation.kind == "qos":
            self.failed = Outcome(Status.QOS_NOT_SUPPORTED, QOS_TOO_HIGH)
        else:
            status = Status.NOT_SUPPORTED if violation.kind == "retain" else Status.OVERSIZE
            self.failed = Outcome(status, f"Error: {SENTENCES[status]}")

    def failure(self, failure: Failure, publisher: Publisher) -> None:
        """Take the outcomes before a failure."""
        self.take(publisher)

    def end(self, publisher: Publisher) -> None:
        """Take the messages in doubt as lost."""
        if publisher.unknown:
            self.failed = self.failed or Outcome(Status.LOST, f"Error: {SENTENCES[Status.LOST]}")
