import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mqttpub.live.net.target import Target
from mqttpub.live.publish.publisher import Publisher, PublishOptions
from mqttpub.live.publish.sender import Publication
from mqttpub.live.publish.sources import Listed
from mqttpub.spark import register
from mqttpub.spark.formats.errors import BrokerError, OptionError, SpoolError
from mqttpub.spark.formats.schema import spark_schema
from mqttpub.spark.formats.spool import Spool
from mqttpub.spark.formats.subscribe import MESSAGES, SubscribeReader
from mqttpub.spec.declare import Property
from tests.build.brokers import Restricted
from tests.build.kills import Compared, compared
from tests.scenarios.survival import Broker as SurvivalBroker
from tests.spark import follow
from tests.spark.broker_clients import messages, publish
from tests.spark.running import collect

pytestmark = [pytest.mark.long, pytest.mark.broker]
WITHIN = 60.0
LONG = 180.0
"""Seconds that starting Spark and ending a query may take on a busy machine."""


def until(condition: Callable[[], Any], what: str, seconds: float = WITHIN) -> Any:
    """Wait for something and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return found


class Paced(Listed):
    """Hands out messages no faster than so many a second."""

    def __init__(self, made: list[Publication], rate: int) -> None:
        super().__init__(made)
        self._rate, self._taken, self._began = rate, 0, time.monotonic()

    def take(self, most: int, now: float) -> list[Publication]:
        allowed = int((now - self._began) * self._rate) - self._taken
        taken = super().take(min(most, allowed), now) if allowed > 0 else []
        self._taken += len(taken)
        return taken

    def pause_s(self, now_s: float) -> float:
        return 0.01


@pytest.fixture
def reader(spark_broker: Restricted, tmp_path: Path) -> Iterator[Callable[..., SubscribeReader]]:
    """Give what makes readers without Spark, as its planner would hold them."""
    made: list[SubscribeReader] = []

    def make(**options: str) -> SubscribeReader:
        given = {"host": "127.0.0.1", "port": str(spark_broker.port), "spool": str(tmp_path / "spool")} | options
        made.append(SubscribeReader(given, spark_schema(MESSAGES)))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def rows(reader: SubscribeReader, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what tasks would read between two offsets."""
    parts = reader.partitions(start, end)
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


def taken(reader: SubscribeReader, start: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Wait for so many messages and return them."""

    def there() -> list[dict[str, Any]]:
        found = rows(reader, start, reader.latestOffset(start, reader.getDefaultReadLimit()))
        return found if len(found) >= count else []

    found: list[dict[str, Any]] = until(there, f"{count} messages")
    return found


# without Spark


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_comes_with_all_that_it_has(
    reader: Callable[..., SubscribeReader], spark_broker: Restricted, qos: int
) -> None:
    made = reader(filter="all/#", qos=str(qos))
    start = made.initialOffset()
    properties = Property(0x03, "text/plain"), Property(0x09, b"\x00\xff"), Property(0x26, ("a", "b"))
    publish(spark_broker.port, "all/ü", [b"\x00payload"], qos, *properties)
    (row,) = taken(made, start, 1)
    assert (row["topic"], row["payload"], row["qos"], row["retain"], row["dup"]) == (
        "all/ü", b"\x00payload", qos, False, False
    )  # fmt: skip
    listed = [(each["id"], each["key"], each["value"]) for each in row["properties"]]
    assert sorted(listed) == [(3, None, "text/plain"), (9, None, "hex:00ff"), (38, "a", "b")]
    assert (row["packet_id"] is None) == (qos == 0)
    assert abs(row["time"].timestamp() - time.time()) < WITHIN


def test_nothing_happens_before_the_first_question(reader: Callable[..., SubscribeReader], tmp_path: Path) -> None:
    reader(filter="lazy").stop()
    assert not (tmp_path / "spool").exists()


def test_a_subscription_continues_its_session(reader: Callable[..., SubscribeReader], spark_broker: Restricted) -> None:
    first = reader(filter="session/#")
    start = first.initialOffset()
    publish(spark_broker.port, "session/a", [b"1"], 1)
    before = taken(first, start, 1)
    first.stop()
    publish(spark_broker.port, "session/a", [b"2", b"3"], 1)
    second = reader(filter="session/#")
    after = taken(second, start, 3)
    assert [row["payload"] for row in after] == [b"1", b"2", b"3"]
    assert after[0] == before[0]


def test_a_removed_topic_filter_is_unsubscribed(
    reader: Callable[..., SubscribeReader], spark_broker: Restricted
) -> None:
    first = reader(filters='["given/up", "given/kept"]')
    start = first.initialOffset()
    first.stop()
    second = reader(filters='["given/kept"]')
    second.initialOffset()
    publish(spark_broker.port, "given/up", [b"1"], 1)
    publish(spark_broker.port, "given/kept", [b"2"], 1)
    assert [row["payload"] for row in taken(second, start, 1)] == [b"2"]


def test_a_shared_subscription_divides_messages(
    reader: Callable[..., SubscribeReader], spark_broker: Restricted, tmp_path: Path
) -> None:
    both = [reader(filter="shared/#", share="group", spool=str(tmp_path / name)) for name in "ab"]
    starts = [each.initialOffset() for each in both]
    publish(spark_broker.port, "shared/a", [b"%d" % number for number in range(100)], 1)
    until(lambda: sum(len(taken(each, start, 0)) for each, start in zip(both, starts, strict=True)) >= 100, "100")
    parts = [taken(each, start, 1) for each, start in zip(both, starts, strict=True)]
    assert all(parts)
    assert sorted(int(row["payload"]) for part in parts for row in part) == list(range(100))


def test_a_broker_that_restarts_is_connected_again(
    reader: Callable[..., SubscribeReader], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SurvivalBroker(tmp_path) as broker:
        made = reader(filter="restart/#", port=str(broker.port))
        start = made.initialOffset()
        publish(broker.port, "restart/a", [b"1"], 1)
        taken(made, start, 1)
        broker.restart(signal.SIGTERM)
        publish(broker.port, "restart/a", [b"2"], 1)
        assert [row["payload"] for row in taken(made, start, 2)] == [b"1", b"2"]
        assert "connecting again" in caplog.text
        made.stop()


def test_tls_with_the_right_authority_and_with_none(
    reader: Callable[..., SubscribeReader], spark_broker: Restricted, tmp_path: Path
) -> None:
    port = str(spark_broker.tls)
    made = reader(filter="tls/#", port=port, ca_file=str(spark_broker.authority))
    start = made.initialOffset()
    publish(spark_broker.port, "tls/a", [b"1"], 1)
    assert len(taken(made, start, 1)) == 1
    with pytest.raises(BrokerError, match="certificate"):
        reader(filter="tls/#", port=port, tls="true", spool=str(tmp_path / "other")).initialOffset()


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({}, OptionError, "option 'filter' is missing"),
        ({"filter": "a/#/b"}, OptionError, r"would refuse the subscription: .*MQTT5-4\.7\.1-1"),
        ({"filters": "[1]"}, OptionError, "'filters' is a string or a JSON list of strings"),
        ({"filter": "a", "qos": "3"}, OptionError, "option 'qos' is a number from 0 to 2, not '3'"),
        ({"filter": "a", "hots": "b"}, OptionError, "there is no option 'hots'; did you mean 'host'"),
        ({"filter": "a", "version": "3.1.1"}, OptionError, "a subscription needs MQTT 5.0"),
        ({"filter": "a", "spool": ""}, OptionError, "option 'spool' is missing"),
        ({"filter": "a", "port": "1"}, BrokerError, "cannot connect to 127.0.0.1:1"),
        (
            {"filter": "a", "connect_properties": '{"topic_alias_maximum": 5}'},
            OptionError,
            "Topic Aliases cannot be stored",
        ),
        ({"filter": "a", "connect_properties": '{"receive_maximum": "x"}'}, OptionError, "Receive Maximum cannot be"),
        ({"filter": "a", "spool": "/proc/nowhere"}, SpoolError, "cannot use '/proc/nowhere'"),
    ],
)
def test_errors_are_one_sentence(
    reader: Callable[..., SubscribeReader], options: dict[str, str], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        reader(**options).initialOffset()


def test_another_query_cannot_have_the_same_spool(
    reader: Callable[..., SubscribeReader], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader(filter="twice/#").initialOffset()
    with pytest.raises(SpoolError, match="another query is using the spool"):
        Spool(str(tmp_path / "spool"), window=10, wait=0.2)


def test_a_checkpoint_that_belongs_to_another_spool(reader: Callable[..., SubscribeReader]) -> None:
    made = reader(filter="foreign/#")
    offset = made.initialOffset()
    limit = made.getDefaultReadLimit()
    with pytest.raises(SpoolError, match="belongs to another spool"):
        made.latestOffset(offset | {"spool": "f00"}, limit)
    with pytest.raises(SpoolError, match=r"but the spool .* ends at"):
        made.latestOffset(offset | {"position": 1 << 40}, limit)
    with pytest.raises(SpoolError, match="ends before position"):
        made.partitions(offset, offset | {"position": 1 << 40})


def test_limits_split_and_trim(reader: Callable[..., SubscribeReader], spark_broker: Restricted) -> None:
    made = reader(filter="limit/#", max_rows_per_trigger="70", segment_bytes="2000", split_bytes="500")
    start = offset = made.initialOffset()
    publish(spark_broker.port, "limit/a", [b"%d" % number for number in range(300)], 1)
    limit = made.getDefaultReadLimit()
    found: list[dict[str, Any]] = []
    while len(found) < 300:
        end = made.latestOffset(offset, limit)
        came = rows(made, offset, end)
        assert len(came) <= 70
        assert came or end == offset
        found += came
        offset = end
    assert [int(row["payload"]) for row in found] == list(range(300))
    assert len({row["position"] for row in found}) == 300
    assert len(made.partitions(start, offset)) > 10
    made.commit(offset)
    with pytest.raises(SpoolError, match="no longer holds position"):
        made.partitions(start, offset)
    assert made.reportLatestOffset() == offset


# with Spark


def test_an_error_in_spark_is_short(spark: Any, tmp_path: Path) -> None:
    register(spark)
    stream = spark.readStream.format("mqtt").options(filter="a/#/b", spool=str(tmp_path / "spool")).load()
    with pytest.raises(Exception, match=r"OptionError: the broker would refuse the subscription") as caught:
        stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start().awaitTermination(WITHIN)
    assert "Traceback" not in str(caught.value)
    assert "\tat " not in str(caught.value)


@pytest.mark.parametrize("qos", [1, 2])
def test_killed_twice_nothing_is_lost_and_nothing_there_twice(
    spark: Any, spark_broker: Restricted, tmp_path: Path, qos: int
) -> None:
    count, folder = 20_000, tmp_path
    chance = random.Random(qos)
    with follow.start(spark_broker.port, folder, qos) as program:
        until(lambda: _listening(spark_broker, folder), "the subscription", LONG)
        expected = [b"%d" % number for number in range(count)]
        source = Paced(messages("kill/a", expected, qos), 500)
        publisher = Publisher(Target("127.0.0.1", spark_broker.port), source, PublishOptions())
        failures: list[BaseException] = []
        thread = threading.Thread(target=lambda: _guarded(lambda: list(publisher.run()), failures))
        thread.start()
        for _ in range(2):
            until(partial(_went_on, folder, _committed(folder), _spooled(folder)), "more messages", LONG)
            program.reach(partial(_spooled, folder), chance.randrange(50_000))
            assert program.kill() >= 3
            program.start()
        thread.join(LONG)
        assert not thread.is_alive()
        assert not failures
        # Messages of one topic come in their order.
        until(partial(_holds, folder, expected[-1]), "the last message")
        program.kill()
        program.start("end")
        assert program.end() == 0, program.said()
    payloads = (bytes(row.payload) for row in collect(spark, folder) if row.topic == "kill/a")
    assert compared(expected, payloads) == Compared([], [])


def _committed(folder: Path) -> int:
    """Return how many batches the query has ended."""
    return len(list((folder / "checkpoint/commits").glob("[0-9]*")))


def _went_on(folder: Path, batches: int, size: int) -> bool:
    return _committed(folder) > batches and _spooled(folder) > size


def _guarded(run: Callable[[], Any], failures: list[BaseException]) -> None:
    try:
        run()
    except BaseException as error:
        failures.append(error)


def _listening(broker: Restricted, folder: Path) -> bool:
    """Send messages until one is in the spool."""
    if not (folder / "spool").exists():
        return False
    before = _spooled(folder)
    publish(broker.port, "kill/probe", [b"?"], 0)
    time.sleep(0.2)
    return _spooled(folder) > before


def _spooled(folder: Path) -> int:
    """Return how many bytes the spool has had so far."""
    found = sorted((folder / "spool").glob("*.spool"))
    return int(found[-1].stem) + os.stat(found[-1]).st_size if found else 0


def _holds(folder: Path, payload: bytes) -> bool:
    """Whether a message ends in these bytes."""
    return any(payload in path.read_bytes() for path in (folder / "spool").glob("*.spool"))
