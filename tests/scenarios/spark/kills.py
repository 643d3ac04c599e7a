"""Spark, its parts and the broker killed at random moments while a stream runs: what arrives, and why some of it twice.

Numbered messages go to mosquitto, and from there through two queries (tests/spark/relay.py): to files, and back to
the broker under another topic, where a subscriber counts them. Three witnesses belong to none of the parts under
test: the publisher's record of each PUBLISH that it sent, the log of mosquitto, and the subscriber's record.
"""

import json
import random
import re
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from mqttpub.codec.publish_writer import PublishWriter
from mqttpub.codec.stream import Frame
from mqttpub.live.net.target import Target
from mqttpub.live.publish.durability import NoJournal
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import Publication
from mqttpub.live.publish.sources import MessageSource
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Publish
from mqttpub.spec.versions import Version
from tests.build.kills import LONGEST_S, KilledProgram, kill
from tests.processes import words_of
from tests.scenarios.survival import SESSION_EXPIRY, Broker, Listener
from tests.spark.relay import TO_BROKER, TO_FILES

PARTS = {"driver": 2, "planner": 3, "executor": 3, "worker": 4, "broker": 4}
"""What is killed, and how often: the driver (Python and JVM), what subscribes, the executor, its workers, mosquitto."""
PUBLISHED = re.compile(r"(Received|Sending) PUBLISH (?:from|to) (\S+) \(d(\d), q\d, r\d, m(\d+), '((?:in|out)/\d/\d+)'")
ANSWERED = re.compile(r"Received PUB(?:ACK|REC) from (\S+) \(Mid: (\d+)")
CONFIRMED = re.compile(r"Sending PUB(?:ACK|REC|COMP) to (\S+) \(m(\d+)")
CONNECTED = re.compile(r"New client connected from \S+ as (\S+) \(p5, c(\d)")
PUBLISHER, SUBSCRIBER = "numbers", "listener-2"


class Numbers(MessageSource):
    """Numbered messages, one at QoS 1 and one at QoS 2 in turn, at so many a second until asked to stop."""

    def __init__(self, rate: int) -> None:
        self.sent = 0
        self.stopped = False
        self._rate = rate
        self._began: float | None = None

    @property
    def ended(self) -> bool:
        """Whether it was asked to stop."""
        return self.stopped

    def take(self, most: int, now_s: float) -> list[Publication]:
        """Return the messages that are due."""
        self._began = self._began or now_s
        due = min(most, int((now_s - self._began) * self._rate) - self.sent)
        return [self._made() for _ in range(max(due, 0))]

    def pause_s(self, now_s: float) -> float:
        """Return a short time."""
        return 0.02

    def _made(self) -> Publication:
        self.sent += 1
        qos = 1 + self.sent % 2
        topic = f"in/{qos}/{self.sent}"
        return Publication(PublishWriter(Publish(topic=topic, qos=qos), Version.V5), str(self.sent).encode())


class NumbersPublisher(threading.Thread):
    """Publishes numbered messages across restarts of the broker, and records each PUBLISH that it sends."""

    def __init__(self, port: int, rate: int, log: Path) -> None:
        super().__init__(daemon=True)
        self.numbers = Numbers(rate)
        self.sendings: Counter[str] = Counter()
        """How often the PUBLISH of each topic was sent."""
        self.failure: BaseException | None = None
        connect = Connect(client_id=PUBLISHER, properties=(Property(SESSION_EXPIRY, 3600),))
        self._log = log.open("w")
        self._publisher = Publisher(
            Target("127.0.0.1", port, connect=connect), self.numbers,
            PublishOptions(timeout_s=LONGEST_S, reconnects=None), observer=self._sent, journal=NoJournal(),
        )  # fmt: skip

    def _sent(self, time_s: float, frame: Frame) -> None:
        data = frame.data
        if data[0] >> 4 != 3:
            return
        at = 3 if data[1] < 0x80 else 4
        topic = data[at + 1 : at + 1 + data[at]].decode()
        self.sendings[topic] += 1
        self._log.write(f"{time_s:.6f} dup={data[0] >> 3 & 1} qos={data[0] >> 1 & 3} {topic}\n")

    def run(self) -> None:
        """Publish until asked to stop and all is acknowledged."""
        try:
            for outcomes in self._publisher.run():
                outcomes.clear()
        except BaseException as error:
            self.failure = error
        finally:
            self._log.close()

    def finish(self) -> None:
        """Stop, and wait until all is acknowledged; raises what went wrong."""
        self.numbers.stopped = True
        self.join(LONGEST_S)
        assert not self.is_alive()
        if self.failure:
            raise self.failure


class RowListener(Listener):
    """A subscriber of what the sink publishes; counts by row, which has the number of the message and its position."""

    def __init__(self, broker: Broker) -> None:
        self.names: dict[bytes, set[str]] = defaultdict(set)
        """The User Properties `mqttpub-row` with which each row came."""
        super().__init__(broker, "out/#", 2)

    def _message(self, client: Any, data: object, message: Any) -> None:
        super()._message(client, data, message)
        for name, value in getattr(message.properties, "UserProperty", ()):
            assert name == "mqttpub-row"
            self.names[message.payload].add(value)


class LoggedMessage:
    """What the log of mosquitto says about the messages of a topic, of which each number has its own."""

    def __init__(self) -> None:
        self.runs: set[tuple[str, int]] = set()
        """Which clients published it, with how often they had begun a session."""
        self.received = 0
        """How often it was published."""
        self.accepted = False
        """Whether it was acknowledged to who published it: with PUBACK, PUBREC or PUBCOMP."""
        self.first: Counter[str] = Counter()
        """How often it was sent to a client without DUP."""
        self.again: Counter[str] = Counter()
        """How often it was sent to a client with DUP."""
        self.answered: set[str] = set()
        """The clients that acknowledged it, with PUBACK or PUBREC."""


def read_log(path: Path) -> dict[str, LoggedMessage]:
    """Return what a log of mosquitto says about each topic."""
    found: dict[str, LoggedMessage] = defaultdict(LoggedMessage)
    sessions: Counter[str] = Counter()
    coming: dict[tuple[str, str], str] = {}
    going: dict[tuple[str, str], str] = {}
    for line in path.read_text(errors="replace").splitlines():
        if match := PUBLISHED.search(line):
            way, client, dup, id, topic = match.groups()
            message = found[topic]
            if way == "Received":
                message.received += 1
                message.runs.add((client, sessions[client]))
                coming[client, id] = topic
            else:
                (message.again if int(dup) else message.first)[client] += 1
                going[client, id] = topic
        elif match := ANSWERED.search(line):
            if match.groups() in going:
                found[going[match[1], match[2]]].answered.add(match[1])
        elif match := CONFIRMED.search(line):
            if match.groups() in coming:
                found[coming[match[1], match[2]]].accepted = True
        elif match := CONNECTED.search(line):
            sessions[match[1]] += int(match[2])
    return found


class StreamOutcome(NamedTuple):
    """What came of a run; topics name messages."""

    published: dict[int, int]
    """Number of messages by QoS."""
    resent: dict[int, int]
    """Number of messages that the publisher sent more than once, by QoS."""
    kills: Counter[str]
    restarts: int
    """How often the program with the queries was started again."""
    lost: dict[str, list[str]]
    """Messages that a query acknowledged and that did not arrive, by where they were to arrive."""
    forgotten: dict[str, list[str]]
    """Messages that the broker acknowledged, and that whoever they were for never had from it: it was killed."""
    doubles: dict[str, Counter[str]]
    """Number of messages that came more than once, by where and QoS, and by cause."""
    unexplained: list[str]
    seconds: float

    def lines(self) -> list[str]:
        """Return the outcome as text."""
        return [
            f"{self.seconds:.0f} s, {sum(self.kills.values())} kills {dict(self.kills)}, {self.restarts} restarts",
            f"  messages by QoS {self.published}, sent more than once by the publisher {self.resent}",
            *(f"  lost {where}: {_some(topics)}" for where, topics in self.lost.items()),
            *(f"  forgotten by the broker, {where}: {_some(topics)}" for where, topics in self.forgotten.items()),
            *(f"  doubles {where}: {dict(causes)}" for where, causes in sorted(self.doubles.items())),
            f"  unexplained: {_some(self.unexplained)}",
        ]


def _some(found: list[str]) -> str:
    """Return how many there are, and the first of them."""
    return f"{len(found)} {found[:5] or ''}"


class StreamKills:
    """The broker, the publisher, the program with the queries and the subscriber of one run."""

    def __init__(self, folder: Path, seed: int, rate: int, say: Callable[[str], object]) -> None:
        self.folder = folder
        self.kills: Counter[str] = Counter()
        self._say = say
        self._chance = random.Random(seed)
        self._began = time.monotonic()
        self._broker = Broker(folder, log=folder / "broker.log")
        self._listener = RowListener(self._broker)
        command = [sys.executable, "-m", "tests.spark.relay", str(self._broker.port), str(folder)]
        self._program = KilledProgram(folder, command)
        self._publisher = NumbersPublisher(self._broker.port, rate, folder / "publisher.log")

    def run(self, kills: int) -> StreamOutcome:
        """Kill at random moments, let everything end well, and return what came of it."""
        try:
            self._wait_for(lambda: _subscriptions(self.folder) >= 2)
            self._publisher.start()
            # Each at least once; those after which Spark has to start again less often.
            plan = [*PARTS, *self._chance.choices(list(PARTS), [*PARTS.values()], k=max(kills - len(PARTS), 0))]
            self._chance.shuffle(plan)
            for part in plan[:kills]:
                self._reach_moment()
                self._kill(part)
            self._publisher.finish()
            self._end()
            self._listener.drain("out/mark")
        finally:
            self._listener.stop()
            self._program.kill()
            self._broker.kill()
        return self._outcome()

    def _reach_moment(self) -> None:
        """Wait for a random moment: in half of the cases after both queries have gone on."""
        if self._chance.random() < 0.5:
            before = self._batches()
            self._wait_for(lambda: all(map(int.__gt__, self._batches(), before)))
        until = time.monotonic() + self._chance.uniform(0, 3)
        self._wait_for(lambda: time.monotonic() > until)

    def _kill(self, part: str) -> None:
        """Kill a part; one that is not there as Spark is starting, as soon as it is."""
        found: list[int] = []
        if part == "broker":
            self._broker.restart()
        else:
            self._wait_for(lambda: part in parts(self._program))
            found = parts(self._program).get(part, [])
            kill(found)
        self.kills[part] += 1
        self._say(f"{time.monotonic() - self._began:6.1f} s {part} {found or ''}")

    def _batches(self) -> tuple[int, int]:
        """Return how many batches each query has ended."""
        files, broker = (
            len(list((self.folder / name / "checkpoint/commits").glob("[0-9]*"))) for name in (TO_FILES, TO_BROKER)
        )
        return files, broker

    def _wait_for(self, condition: Callable[[], Any]) -> None:
        """Wait for something, and start the program again where it has ended."""
        while not self._program.wait(lambda: self._publisher.failure or condition()):
            # Parts that outlive their driver end by themselves, but not at once.
            self._program.kill()
            self._program.start()
        if self._publisher.failure:
            raise self._publisher.failure

    def _end(self) -> None:
        """Let the queries read what is left."""
        until = time.monotonic() + LONGEST_S
        self._program.kill()
        self._program.start("end")
        while self._program.end():
            # Spark gives up where a worker takes long to start.
            assert time.monotonic() < until, self._program.said()
            self._program.start("end")

    def _outcome(self) -> StreamOutcome:
        return Account(self.folder, self._publisher, self._listener).outcome(
            self.kills, self._program.starts - 1, time.monotonic() - self._began
        )


def _subscriptions(folder: Path) -> int:
    log = (folder / "broker.log").read_text(errors="replace")
    return sum(f"{name} 2 in/#" in log for name in (TO_FILES, TO_BROKER))


def parts(program: KilledProgram) -> dict[str, list[int]]:
    """Return the processes of a program with Spark by their part in it."""
    found: dict[str, list[int]] = defaultdict(list)
    commands = {pid: words for pid in program.members() if (words := words_of(pid))}
    for pid, words in commands.items():
        if pid == program.process.pid or "deploy.SparkSubmit" in words:
            found["driver"].append(pid)
        elif "CoarseGrainedExecutorBackend" in words:
            found["executor"].append(pid)
        elif "python_streaming_source_runner" in words:
            found["planner"].append(pid)
        elif "pyspark.daemon pyspark.worker" in words:
            found["worker"].append(pid)
    if not any("deploy.SparkSubmit" in commands[pid] for pid in found["driver"]):
        found.pop("driver")
    return found


class Account:
    """Compares what the witnesses of a run saw."""

    def __init__(self, folder: Path, publisher: NumbersPublisher, listener: RowListener) -> None:
        self._log = read_log(folder / "broker.log")
        self._sendings = publisher.sendings
        self._topics = [f"in/{1 + number % 2}/{number}" for number in range(1, publisher.numbers.sent + 1)]
        self._in_files = written(folder / "out")
        self._listener = listener
        self._rows: dict[str, list[bytes]] = defaultdict(list)
        """The rows that the subscriber had of each message; a row has a position."""
        for row in listener.seen:
            self._rows[self._topics[int(row.split()[0]) - 1]].append(row)
        self._lost: dict[str, list[str]] = defaultdict(list)
        self._forgotten: dict[str, list[str]] = defaultdict(list)
        self._doubles: dict[str, Counter[str]] = defaultdict(Counter)
        self._unexplained: list[str] = []

    def outcome(self, kills: Counter[str], restarts: int, seconds: float) -> StreamOutcome:
        """Return what came of a run."""
        for topic in self._topics:
            self._look_at_files(topic)
            self._look_at_rows(topic)
        if again := self._listener.again:
            self._doubles["at the subscriber, with DUP and the same Packet Identifier"]["by the broker"] = again
        return StreamOutcome(
            _by_qos(self._topics), _by_qos([each for each in self._topics if self._sendings[each] > 1]), kills,
            restarts, dict(self._lost), dict(self._forgotten), dict(self._doubles), self._unexplained, seconds,
        )  # fmt: skip

    def _look_at_files(self, topic: str) -> None:
        count = self._in_files[topic]
        if not count:
            self._missed(topic, TO_FILES, "in files")
        elif count > 1:
            self._doubles[f"in files, QoS {topic[3]}"][self._source_cause(topic, TO_FILES, count)] += 1

    def _look_at_rows(self, topic: str) -> None:
        rows, out = self._rows[topic], topic.replace("in/", "out/")
        where = f"at the subscriber, QoS {topic[3]}"
        if not rows and self._log[out].accepted:
            # It came to the broker again, from the sink.
            self._missed(out, SUBSCRIBER, "at the subscriber")
        elif not rows:
            self._missed(topic, TO_BROKER, "at the subscriber")
        elif len(rows) > 1:
            self._doubles[where][self._source_cause(topic, TO_BROKER, len(rows))] += 1
        for row in rows:
            if self._listener.seen[row] > 1:
                self._doubles[where][self._sink_cause(out, row)] += 1

    def _missed(self, topic: str, client: str, where: str) -> None:
        """Note a message that did not arrive: whoever acknowledged it last has lost it."""
        message = self._log[topic]
        if client in message.answered:
            self._lost[where].append(topic)
        elif message.accepted:
            self._forgotten[where].append(topic)
        else:
            self._unexplained.append(f"{topic} is missing {where}, though the broker did not acknowledge it")

    def _source_cause(self, topic: str, client: str, count: int) -> str:
        """Return why a query has a message more than once."""
        message = self._log[topic]
        if message.first[client] + message.again[client] < count:
            self._unexplained.append(f"{topic}: {count} times, but sent {message.first[client]} times to {client}")
        return "sent again by the publisher" if self._sendings[topic] > 1 < message.first[client] else "by the broker"

    def _sink_cause(self, topic: str, row: bytes) -> str:
        """Return why the subscriber has a row more than once."""
        message = self._log[topic]
        if len(self._listener.names[row]) != 1:
            self._unexplained.append(f"{row!r} has the names {self._listener.names[row]}")
        if len(message.runs) > 1:
            return "published again by Spark"
        if message.received > 1:
            return "sent again by the sink"
        if not message.again[SUBSCRIBER]:
            self._unexplained.append(f"{row!r} came {self._listener.seen[row]} times")
        return "by the broker"


def _by_qos(topics: list[str]) -> dict[int, int]:
    return dict(sorted(Counter(int(each.split("/")[1]) for each in topics).items()))


def written(folder: Path) -> Counter[str]:
    """Return how often each topic is in the files that a query committed; each position must be there once."""
    names: set[str] = set()
    log = folder / "_spark_metadata"
    for path in sorted(log.glob("[0-9]*"), key=lambda each: (int(each.name.partition(".")[0]), each.suffix == "")):
        names.update(json.loads(line)["path"] for line in path.read_text().splitlines()[1:])
    topics: Counter[str] = Counter()
    positions: Counter[int] = Counter()
    for name in names:
        table = pq.ParquetFile(name.removeprefix("file://")).read(columns=["topic", "position"])
        topics.update(table.column("topic").to_pylist())
        positions.update(table.column("position").to_pylist())
    assert not positions or max(positions.values()) == 1
    return topics
