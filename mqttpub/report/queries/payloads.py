"""Queries on payloads: their kinds, and how the form of a topic's payloads drifts.

Only a report asks them, and only what it shows reaches the driver.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from ...payload.kinds import MALFORMED, SPARKPLUG, sparkplug_decoder
from ...spark.formats.schema import spark_schema
from ...spark.pipeline.manifest import Manifest
from ..answers import Row
from ..payloads.answers import PayloadAnswers, SchemaVersion, TopicDrift
from ..payloads.forms import FORM, forms
from ..tables import packets_with_payloads
from .common import PLACE, TOP, TOPIC, WHO, asked
from .sparkplug import sparkplug

MOST_VERSIONS = 12
"""Forms of a topic that are shown."""
KEPT = ("keep", "hash", "drop")
"""What tables can have of payloads, from all to nothing."""

STREAM = f"if(direction = 'server', {WHO}, '')"
"""SQL for the receiver of what a server sent; empty for what publishers sent."""
_MESSAGES = f"""
    SELECT {TOPIC} AS topic, {STREAM} AS stream, {WHO} AS who, {", ".join(PLACE)}, payload_length AS size, payload
    FROM {{packets}} WHERE type = 'PUBLISH' AND payload IS NOT NULL
"""
_FIRST = "struct(unix_micros(time) AS time, capture, frame, pos, who)"
_LAG = f"lag(form.version) OVER (PARTITION BY topic, stream ORDER BY {', '.join(PLACE)})"
_VERSIONS = f"""
    SELECT topic, stream, form.version AS version, first(form.kind) AS kind, max(form.schema) AS schema,
        count(*) AS messages, sum(size) AS bytes, count_if(changed) AS changes, count_if(form.repeated) AS repeated,
        count_if(form.cut) AS cut, min({_FIRST}) AS first, max({_FIRST}) AS last
    FROM (SELECT *, coalesce(form.version != {_LAG}, false) AS changed FROM {{forms}})
    GROUP BY topic, stream, form.version
"""
"""SQL for the forms of each topic in each stream."""
_KINDS = """
    SELECT kind, coalesce(sum(messages) FILTER (WHERE stream = ''), 0) AS client_messages,
        coalesce(sum(messages) FILTER (WHERE stream != ''), 0) AS server_messages, sum(messages) AS messages,
        sum(bytes) AS bytes, count(DISTINCT topic) AS topics, sum(repeated) AS repeated, sum(cut) AS cut
    FROM {versions} GROUP BY kind ORDER BY messages DESC, kind
"""
_OF_TOPIC = "OVER (PARTITION BY topic, stream)"
_DRIFT = f"""
    WITH each AS (
        SELECT *, count(*) {_OF_TOPIC} AS count, sum(messages) {_OF_TOPIC} AS of_topic,
            sum(changes) {_OF_TOPIC} AS all_changes,
            row_number() OVER (PARTITION BY topic, stream ORDER BY first, version) AS number,
            -- A batch has the text of a schema once, in whichever stream it comes first.
            max(schema) OVER (PARTITION BY topic, version) AS text
        FROM {{versions}} WHERE topic IS NOT NULL AND kind NOT IN ('{SPARKPLUG}', '{MALFORMED}')
    ), topics AS (
        SELECT topic, stream, count(*) OVER () AS drifting
        FROM (SELECT *, row_number() OVER (PARTITION BY topic ORDER BY stream = '' DESC, of_topic DESC, stream) AS rank
              FROM each WHERE number = 1)
        WHERE rank = 1 AND count > 1 ORDER BY all_changes DESC, count DESC, topic LIMIT {TOP}
    )
    SELECT each.*, drifting FROM each JOIN topics USING (topic, stream) WHERE number <= {MOST_VERSIONS}
    ORDER BY all_changes DESC, count DESC, topic, number
"""
"""SQL for the forms of the topics that changed most, each in the stream that shows it best."""


def payloads(spark: Any, folder: str | Path) -> PayloadAnswers:
    """Return what is known of the payloads in the tables of a folder."""
    runs = {run.get("payload", "keep") for run in Manifest.in_folder(folder).runs}
    kept = next((each for each in reversed(KEPT) if each in runs), "keep")
    if kept != "keep":
        return PayloadAnswers(kept)
    packets = packets_with_payloads(spark, folder)
    versions = _versions(spark, packets).persist()
    try:
        kinds = asked(spark, _KINDS, {"versions": versions})
        drift = asked(spark, _DRIFT, {"versions": versions})
    finally:
        versions.unpersist()
    found = PayloadAnswers(kinds=tuple(kinds), drifting=drift[0]["drifting"] if drift else 0, drift=_by_topic(drift))
    if not any(row["kind"] in (SPARKPLUG, MALFORMED) for row in kinds):
        return found
    if sparkplug_decoder() is None:
        return found._replace(undecoded=True)
    return found._replace(sparkplug=sparkplug(spark, packets))


def _versions(spark: Any, packets: Any) -> Any:
    from pyspark.sql.functions import arrow_udf, col

    # Spark sends this function to its workers, and tells its kind by its annotations.
    def formed(topics: pa.Array, payloads: pa.Array) -> pa.Array:
        return forms(topics, payloads)

    formed.__annotations__ = {"topics": pa.Array, "payloads": pa.Array, "return": pa.Array}
    form = arrow_udf(formed, spark_schema(pa.schema(list(FORM))))
    messages = spark.sql(_MESSAGES, packets=packets)
    return spark.sql(_VERSIONS, forms=messages.withColumn("form", form(col("topic"), col("payload"))).drop("payload"))


def _by_topic(rows: list[Row]) -> tuple[TopicDrift, ...]:
    """Return the topics of rows, each with its forms."""
    versions: dict[str, list[Row]] = {}
    for row in rows:
        versions.setdefault(row["topic"], []).append(row)
    return tuple(_drift(topic, own) for topic, own in versions.items())


def _drift(topic: str, rows: list[Row]) -> TopicDrift:
    first = rows[0]
    shown = tuple(map(_version, rows))
    return TopicDrift(topic, first["stream"], first["of_topic"], first["all_changes"], first["count"], shown)


def _version(row: Row) -> SchemaVersion:
    paths = dict(line.split("\t", 1) for line in (row["text"] or "").splitlines())
    return SchemaVersion(row["kind"], paths, row["messages"], row["first"], row["last"])
