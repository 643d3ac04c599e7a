from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource
from pyspark.sql.types import StructType

from mqttpub.capture.reading import events
from mqttpub.columns.schema import PACKETS
from mqttpub.spark import register
from mqttpub.spark.formats.capture_reader import CaptureReader, FilteringReader, reader
from mqttpub.spark.formats.errors import CaptureError, OptionError
from mqttpub.spark.formats.pushdown import PushedFilters
from mqttpub.spark.formats.schema import spark_schema
from mqttpub.spec.versions import Version
from tests.build.known_captures import Truth, truth, write
from tests.columns.packet_rows import rows
from tests.columns.packet_rows import truth as scalar_truth
from tests.paths import CAPTURES

pytestmark = pytest.mark.long
FILES = 6
Rows = Counter[tuple[Any, ...]]


@pytest.fixture(scope="module")
def known() -> Truth:
    """Captures of which everything is known, rotated in the middle of packets and connections."""
    return truth(4, connections=8, messages=60, files=FILES)


@pytest.fixture
def folder(known: Truth, tmp_path: Path) -> Path:
    made = tmp_path / "captures"
    made.mkdir()
    write(known, made)
    for name in ("packets.jsonl", "exchanges.jsonl"):
        (made / name).unlink()
    return made


def expected(known: Truth) -> Rows:
    return Counter(
        (
            each.time // 1000, each.sender, each.offset, each.type, each.topic, len(each.data) // 2,
            Version(each.version).label,
        )
        for each in known.packets
    )  # fmt: skip


def found(batches: Iterable[pa.RecordBatch]) -> Rows:
    """Return rows by what tells them from others, wherever their captures begin and end."""
    names = ["time", "direction", "pos", "type", "resolved_topic", "packet_bytes", "version"]
    rows: Rows = Counter()
    for batch in batches:
        times = batch.column("time").cast(pa.int64()).to_pylist()
        others = [batch.column(name).to_pylist() for name in names[1:]]
        rows.update(zip(times, *others, strict=True))
    return rows


def read(path: Path | str, schema: StructType | None = None, **options: str) -> list[pa.RecordBatch]:
    """Return what tasks would read."""
    made = reader({"path": str(path)} | options, schema or spark_schema(PACKETS))
    return [batch for part in made.partitions() for batch in made.read(part)]


# once, without Spark


@pytest.mark.parametrize("count", [1, 2, 5])
def test_rotated_files_are_one_capture_for_any_number_of_tasks(known: Truth, folder: Path, count: int) -> None:
    assert found(read(folder, partitions=str(count))) == expected(known)


def test_a_glob_and_a_list_are_the_same(known: Truth, folder: Path) -> None:
    assert found(read(f"{folder}/capture-*.pcap")) == expected(known)
    paths = "[" + ", ".join(f'"{path}"' for path in sorted(folder.iterdir(), reverse=True)) + "]"
    made = reader({"paths": paths}, spark_schema(PACKETS))
    assert found(batch for part in made.partitions() for batch in made.read(part)) == expected(known)


def test_a_file_alone_is_divided_by_its_size(folder: Path) -> None:
    whole: Rows = Counter()
    for path in folder.iterdir():
        whole.update(found(read(path)))
    made = reader(
        {"path": str(folder), "alone": "true", "split_bytes": "20000", "partitions": "3"}, spark_schema(PACKETS)
    )
    parts = made.partitions()
    assert len(parts) > FILES
    assert found(batch for part in parts for batch in made.read(part)) == whole


def test_only_the_requested_columns_are_read_in_their_types(folder: Path) -> None:
    schema = spark_schema(pa.schema([("qos", pa.int32()), ("topic", pa.string()), ("length", pa.int64())]))
    batches = read(folder, schema)
    assert {(*batch.schema.names, *map(str, batch.schema.types)) for batch in batches} == {
        ("qos", "topic", "length", "int32", "string", "int64")
    }
    with pytest.raises(OptionError, match="there is no column 'colour'"):
        read(folder, spark_schema(pa.schema([("colour", pa.string())])))
    with pytest.raises(OptionError, match="column 'properties' is list"):
        read(folder, spark_schema(pa.schema([("properties", pa.int32())])))


def test_broken_files_are_reported_or_skipped(known: Truth, folder: Path) -> None:
    last = folder / f"capture-{FILES - 1:03}.pcap"
    last.write_bytes(last.read_bytes()[:-7])
    with pytest.raises(CaptureError, match=f"'{last}': offset [0-9]+: "):
        read(folder)
    rows = found(read(folder, broken="skip"))
    assert not rows - expected(known)
    assert 0 < (expected(known) - rows).total() < 10


def test_files_that_are_not_captures(folder: Path) -> None:
    path = folder / "capture-000.pcap"
    path.write_bytes(b"\0" * 100)
    with pytest.raises(CaptureError, match=str(path)):
        read(folder)


@pytest.mark.parametrize(
    ("path", "options", "error", "sentence"),
    [
        ("nowhere", {}, CaptureError, "cannot read 'nowhere': No such file"),
        ("no*where", {}, CaptureError, r"nothing matches 'no\*where'"),
        (
            "viewfs://ring/a.pcap",
            {},
            OptionError,
            "tasks cannot open 'viewfs://ring/a.pcap' themselves; `mqttpub",
        ),
        ("s3://key:secret@bucket/a", {}, OptionError, "a URL of s3://bucket contains credentials"),
        ("file://elsewhere/a", {}, OptionError, "'file://elsewhere/a' is a file on the host elsewhere"),
        ("", {}, OptionError, "there is nothing to read"),
        ("x", {"ports": "mqtt"}, OptionError, "option 'ports' is a list of TCP ports"),
        ("x", {"broken": "perhaps"}, OptionError, "option 'broken' is one of fail, skip"),
        ("x", {"partition": "2"}, OptionError, "there is no option 'partition'; did you mean 'partitions'"),
    ],
)
def test_errors_are_one_sentence(path: str, options: dict[str, str], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        read(path, **options)


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcapng")), ids=lambda path: path.stem)
def test_a_real_capture_gives_the_rows_of_the_scalar_codec(path: Path) -> None:
    with path.open("rb") as file:
        wanted = list(scalar_truth(events(file)))
    got = [row for batch in read(path, partitions="1") for row in rows(batch)]
    for row in (*wanted, *got):
        del row["capture"], row["connection"]
    assert got == wanted


# filters

EQUAL, NOT = datasource.EqualTo, datasource.Not
FILTERS: list[tuple[Any, Callable[[dict[str, Any]], Any]]] = [
    (EQUAL(("qos",), 1), lambda row: row["qos"] == 1),
    (NOT(EQUAL(("qos",), 1)), lambda row: row["qos"] is not None and row["qos"] != 1),
    (EQUAL(("dup",), True), lambda row: row["dup"] is True),
    (datasource.In(("type",), ("PUBLISH", "PUBACK")), lambda row: row["type"] in ("PUBLISH", "PUBACK")),
    (NOT(datasource.In(("qos",), (0, 1))), lambda row: row["qos"] == 2),
    (datasource.GreaterThan(("packet_bytes",), 20), lambda row: row["packet_bytes"] > 20),
    (datasource.LessThanOrEqual(("packet_bytes",), 20), lambda row: row["packet_bytes"] <= 20),
    (datasource.IsNull(("topic",)), lambda row: row["topic"] is None),
    (datasource.IsNotNull(("topic",)), lambda row: row["topic"] is not None),
    (datasource.StringStartsWith(("type",), "PUB"), lambda row: row["type"].startswith("PUB")),
    (datasource.StringContains(("type",), "REL"), lambda row: "REL" in row["type"]),
    (datasource.StringEndsWith(("type",), "ACK"), lambda row: row["type"].endswith("ACK")),
]


@pytest.mark.parametrize(("filter", "kept"), FILTERS, ids=lambda each: repr(each) if hasattr(each, "attribute") else "")
def test_a_pushed_filter_keeps_the_rows_that_sql_keeps(
    folder: Path, filter: Any, kept: Callable[[dict[str, Any]], Any]
) -> None:
    made = PushedFilters(spark_schema(PACKETS))
    assert made.accept(filter)
    for batch in read(folder):
        assert made(batch).to_pylist() == [row for row in batch.to_pylist() if kept(row)]


@pytest.mark.parametrize(
    "filter",
    [
        EQUAL(("properties",), []), EQUAL(("payload",), b"x"), EQUAL(("time",), 1), EQUAL(("qos",), 1000),
        EQUAL(("a", "b"), 1), EQUAL(("nowhere",), 1), datasource.EqualNullSafe(("qos",), 1),
        datasource.In(("qos",), (1, None)), datasource.StringStartsWith(("qos",), "1"),
    ],
)  # fmt: skip
def test_complex_filters_are_left_to_spark(filter: Any) -> None:
    assert not PushedFilters(spark_schema(PACKETS)).accept(filter)


def test_a_reader_takes_filters_only_when_it_may(folder: Path) -> None:
    given = {"path": str(folder)}
    # Spark refuses a reader that has its own pushFilters when push-down is off.
    assert type(reader(given, spark_schema(PACKETS))).pushFilters is CaptureReader.pushFilters
    assert "pushFilters" not in vars(CaptureReader)
    made = reader(given | {"pushdown": "true"}, spark_schema(PACKETS))
    assert isinstance(made, FilteringReader)
    left = datasource.EqualTo(("payload",), b"x")
    assert list(made.pushFilters([datasource.EqualTo(("type",), "CONNECT"), left])) == [left]
    types = {
        name for part in made.partitions() for batch in made.read(part) for name in batch.column("type").to_pylist()
    }
    assert types == {"CONNECT"}


# with Spark


def test_spark_reads_captures(spark: Any, known: Truth, folder: Path) -> None:
    register(spark)
    table = spark.read.format("mqtt_capture").load(str(folder))
    assert found(table.toArrow().to_batches()) == expected(known)
    types = table.where("qos > 0").groupBy("type").count().collect()
    wanted = Counter(each.type for each in known.packets if each.type == "PUBLISH" and int(each.data[:2], 16) & 6)
    assert {row["type"]: row["count"] for row in types} == wanted
    some = (
        spark.read.format("mqtt_capture").schema("topic string, qos int").load([str(path) for path in folder.iterdir()])
    )
    assert some.count() == len(known.packets)


def test_push_down_in_spark_gives_the_same(spark: Any, folder: Path) -> None:
    register(spark)
    wanted = (
        "type = 'PUBLISH' and qos in (1, 2) and not dup and topic like '%a%' and length > 20 and payload is not null"
    )
    plain = spark.read.format("mqtt_capture").load(str(folder)).where(wanted).count()
    assert plain
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        table = spark.read.format("mqtt_capture").option("pushdown", "true").load(str(folder)).where(wanted)
        assert table.count() == plain
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_an_error_in_spark_is_short(spark: Any, folder: Path) -> None:
    register(spark)
    path = folder / "capture-000.pcap"
    path.write_bytes(path.read_bytes()[:-7])
    for wrong in (str(path), "nowhere"):
        with pytest.raises(Exception, match="CaptureError: ") as caught:
            spark.read.format("mqtt_capture").load(wrong).collect()
        assert "Traceback" not in str(caught.value)
        assert len(str(caught.value).splitlines()) <= 3
