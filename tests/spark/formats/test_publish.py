import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from mqttpub.spark import register
from mqttpub.spark.formats.errors import BrokerError, OptionError, RefusedError
from mqttpub.spark.formats.mqtt_source import Mqtt
from mqttpub.spark.formats.publish import MqttSink, PublishedRows
from mqttpub.spark.formats.rows import NAME, MessageKind, MessageMaker, UnfitRow
from mqttpub.spark.formats.schema import spark_schema
from mqttpub.spec.versions import Version
from tests.build.brokers import Restricted
from tests.fakes import Peer, scripted_many
from tests.spark.broker_clients import listening

pytestmark = [pytest.mark.long, pytest.mark.broker]
FORBIDDEN = "the broker refused it: 0x87 Not authorized"


@pytest.fixture
def sink(spark_broker: Restricted) -> Any:
    """Publish a table without Spark, as one task would, and return what it tells."""

    def publish(table: dict[str, Any] | pa.RecordBatch, **options: str) -> PublishedRows:
        batch = pa.RecordBatch.from_pydict(table) if isinstance(table, dict) else table
        given = {"host": "127.0.0.1", "port": str(spark_broker.port)} | options
        made = MqttSink(given, spark_schema(batch.schema))
        done = made.publish(iter([batch]))
        made.conclude([done])
        return done

    return publish


# without Spark


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_columns_become_messages(sink: Any, spark_broker: Restricted, qos: int) -> None:
    with listening(spark_broker.port, "columns/#") as heard:
        done = sink(
            {
                "topic": ["columns/ü"], "value": ["text"], "qos": [qos], "content_type": ["text/plain"],
                "correlation_data": [b"\0\xff"], "message_expiry_interval": [60],
                "user_properties": [[{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]],
                "properties": [[{"id": 8, "name": "Response Topic", "key": None, "value": "answers"}]],
            },
            properties='{"payload_format_indicator": 1, "content_type": "overruled"}',
        )  # fmt: skip
        (message,) = heard.wait_for(1)
    assert (done.rows, done.refused.total()) == (1, 0)
    assert (message.topic, message.payload, message.qos) == ("columns/ü", b"text", qos)
    told = message.properties
    assert (told.ContentType, told.CorrelationData, told.ResponseTopic) == ("text/plain", b"\0\xff", "answers")
    assert told.UserProperty == [("a", "1"), ("a", "2")]
    assert told.PayloadFormatIndicator == 1
    assert told.MessageExpiryInterval <= 60


def test_options_stand_in_for_columns_and_retain(sink: Any, spark_broker: Restricted) -> None:
    sink({"payload": [b"kept"]}, topic="options/a", qos="1", retain="true")
    with listening(spark_broker.port, "options/#") as heard:
        (message,) = heard.wait_for(1)
    assert (message.retain, message.qos, message.payload) == (True, 1, b"kept")


def test_what_a_lost_broker_acknowledged_last_is_published_again() -> None:
    seen: list[str] = []

    def lost(peer: Peer) -> None:
        peer.accept()
        assert peer.packet()
        peer.send("40 02 00 01")

    def back(peer: Peer) -> None:
        peer.accept("20 03 01 00 00")
        for answer in ("40 02 00 02", "40 02 00 01", "d0 00", ""):
            seen.append(peer.packet().hex(" "))
            peer.send(answer)

    batch = pa.RecordBatch.from_pydict({"topic": ["a", "a"], "payload": ["x", "y"], "qos": [1, 1]})
    with scripted_many([lost, back]) as port:
        sink = MqttSink({"host": "127.0.0.1", "port": str(port), "timeout": "10"}, spark_schema(batch.schema))
        assert sink.publish(iter([batch])).rows == 2
    again = {"3a 07 00 01 61 00 01 00 78", "3a 07 00 01 61 00 02 00 79"}
    assert (set(seen[:2]), seen[2:]) == (again, ["c0 00", "e0 00"])


def test_a_row_names_itself(sink: Any, spark_broker: Restricted) -> None:
    with listening(spark_broker.port, "named/#") as heard:
        sink({"payload": ["a", "b"]}, topic="named/a", qos="1", row_property="true")
        names = [dict(message.properties.UserProperty)[NAME] for message in heard.wait_for(2)]
    assert [name.split("/")[1:] for name in names] == [["0", "0"], ["0", "1"]]
    assert len({name.split("/")[0] for name in names}) == 1


@pytest.mark.parametrize("qos", ["1", "2"])
def test_refused_rows_are_reported_with_their_reason(
    sink: Any, spark_broker: Restricted, tmp_path: Path, qos: str
) -> None:
    topics = ["refused/a", "forbidden/a", "refused/#", None, "refused/b"]
    table = pa.RecordBatch.from_pydict({"topic": topics, "payload": ["x", "x", "x", "x", None]})
    done = sink(table, qos=qos, refused=str(tmp_path / "refused"))
    assert done.rows == 1
    reported = [json.loads(line) for line in Path(done.file).read_text().splitlines()]
    assert sorted((line["row"], line["topic"], line["reason"]) for line in reported) == [
        (1, "forbidden/a", FORBIDDEN),
        (2, None, "Topic Name holds the wildcard # (MQTT5-3.3.2-2)"),
        (3, None, "the topic is null"),
        (4, None, "the payload is null"),
    ]
    with pytest.raises(RefusedError, match="4 of 5 rows were not published: 1 because"):
        sink(table, qos=qos)


def test_rows_refused_before_the_broker_was_lost_are_in_the_file(tmp_path: Path) -> None:
    def lost(peer: Peer) -> None:
        peer.accept()
        assert peer.packet()

    batch = pa.RecordBatch.from_pydict({"topic": [None, "a"], "payload": ["x", "y"], "qos": [1, 1]})
    with scripted_many([lost]) as port:
        given = {"host": "127.0.0.1", "port": str(port), "reconnects": "0", "refused": str(tmp_path)}
        with pytest.raises(BrokerError):
            MqttSink(given, spark_schema(batch.schema)).publish(iter([batch]))
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {"row": 0, "topic": None, "reason": "the topic is null"}


def test_rows_beyond_a_limit_are_refused(sink: Any, tmp_path: Path) -> None:
    done = sink({"payload": ["x"], "qos": [7]}, topic="limit/a", refused=str(tmp_path))
    assert list(done.refused) == ["QoS is 7, but must be 0, 1 or 2"]
    table = {"payload": ["x"] * 3, "topic": ["é" * 32_768, "", "a/+"]}
    assert sorted(sink(table, refused=str(tmp_path)).refused) == [
        "Topic Name holds the wildcard + (MQTT5-3.3.2-2)",
        "Topic Name is empty, but the packet has no Topic Alias (MQTT5-3.3.2.1/empty)",
        "the topic has 65,536 bytes, more than 65,535",
    ]


def test_a_property_that_tables_hold_as_null_is_not_published_as_an_empty_one(sink: Any, tmp_path: Path) -> None:
    names = [("user_property", 38, None, "b"), ("user_property", 38, "a", None), ("content_type", 3, None, None)]
    rows = [[{"id": id, "name": name, "key": key, "value": value}] for name, id, key, value in names]
    done = sink({"payload": ["x"] * 3, "properties": rows}, topic="t", refused=str(tmp_path))
    assert list(done.refused) == [
        "a User Property has a name and a value", "the value of User Property is null",
        "the value of Content Type is null",
    ]  # fmt: skip


def test_a_payload_that_no_packet_can_carry_is_refused() -> None:
    writers, kind = MessageMaker(Version.V5), MessageKind("a", 1, False, ())
    with pytest.raises(UnfitRow, match="the payload has 268,435,455 bytes, more than a PUBLISH can carry"):
        writers.message(kind, bytes(268_435_455), 0, None)
    # Behind the fixed header come three bytes of the topic, two of the Packet Identifier, one of no properties.
    most = bytes(268_435_449)
    assert writers.message(kind, most, 0, None).payload is most
    with pytest.raises(UnfitRow):
        writers.message(kind, most, 0, "a row with a name")


def test_tls(sink: Any, spark_broker: Restricted) -> None:
    secured = {"port": str(spark_broker.tls), "topic": "tls/a", "qos": "1"}
    assert sink({"payload": ["x"]}, ca_file=str(spark_broker.authority), **secured).rows == 1
    with pytest.raises(BrokerError, match="certificate"):
        sink({"payload": ["x"]}, tls="true", **secured)


@pytest.mark.parametrize(
    ("table", "options", "sentence"),
    [
        ({"payload": ["x"]}, {}, "there is no topic"),
        ({"topic": ["x"]}, {}, "there must be a column 'payload', or 'value'"),
        ({"payload": ["x"], "value": ["x"]}, {"topic": "t"}, "and not both"),
        ({"payload": [1]}, {"topic": "t"}, "column 'payload' is bigint, but a payload is a string or binary"),
        ({"payload": ["x"], "colour": ["red"]}, {"topic": "t"}, "column 'colour' has no meaning in MQTT"),
        ({"payload": ["x"]}, {"topic": "t", "qso": "1"}, "there is no option 'qso'; did you mean 'qos'"),
        ({"payload": ["x"]}, {"topic": "t", "properties": '{"topic": 1}'}, "PUBLISH has no property 'topic'"),
        ({"payload": ["x"]}, {"topic": "t", "properties": "["}, "option 'properties' is not JSON"),
        ({"payload": ["x"]}, {"topic": "t", "retain": "maybe"}, "option 'retain' is true or false, not 'maybe'"),
        ({"payload": ["x"]}, {"topic": "t", "timeout": "-1"}, "option 'timeout' is a number of seconds, not '-1'"),
        ({"payload": ["x"]}, {"topic": "t", "transport": "pigeon"}, "option 'transport' is one of tcp, websocket"),
    ],
)
def test_impossible_options_are_reported_at_once(
    sink: Any, table: dict[str, Any], options: dict[str, str], sentence: str
) -> None:
    with pytest.raises(OptionError, match=sentence):
        sink(table, **options)


def test_only_append() -> None:
    with pytest.raises(OptionError, match=r"use mode\('append'\)"):
        Mqtt({}).writer(spark_schema(pa.schema([("payload", pa.string())])), overwrite=True)


# with Spark


def test_refused_rows_fail_a_job_of_spark_in_few_words(spark: Any, spark_broker: Restricted) -> None:
    register(spark)
    table = spark.range(30).selectExpr("if(id % 3 = 0, 'forbidden/a', 'free/a') as topic", "string(id) as payload")
    where = {"host": "127.0.0.1", "port": str(spark_broker.port), "qos": "1"}
    with pytest.raises(Exception, match="RefusedError: 10 of 30 rows were not published: 10 because") as caught:
        table.write.format("mqtt").mode("append").options(**where).save()
    assert "Traceback" not in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 3
