"""A program of its own that passes messages on with Spark, for tests that kill it.

    python -m tests.spark.relay PORT FOLDER [end]

One query writes the subscription `in/#` to files, another publishes it again under `out/`, each payload followed
by its position in the spool. The executor is a process of its own. With `end` it reads what is there and ends;
otherwise it works until it is killed.
"""

import sys
import time
from typing import Any

from pyspark.errors import StreamingQueryException

from mqttpub.spark import register
from mqttpub.spark.session.session import Settings, session

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of Java for a short life."""
CONF = {
    "spark.driver.defaultJavaOptions": QUICK,
    "spark.executor.defaultJavaOptions": QUICK,
    "spark.executor.memory": "512m",
    # An executor that was killed is started again, however often.
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.sql.streaming.stopTimeout": "20000",
}
TO_FILES, TO_BROKER = "to-files", "to-broker"
"""The queries, and the Client Identifiers of their subscriptions."""


def main(port: str, folder: str, *end: str) -> None:
    """Run both queries; one that fails, because a part of it was killed, is begun again."""
    with session(Settings("local-cluster[1,2,1024]", CONF)) as spark:
        register(spark)
        files = _subscribed(spark, port, folder, TO_FILES).writeStream.format("parquet").option("path", f"{folder}/out")
        passed_on = _subscribed(spark, port, folder, TO_BROKER).selectExpr(
            "replace(topic, 'in/', 'out/') AS topic", "concat(string(payload), ' ', position) AS payload", "qos"
        )
        broker = passed_on.writeStream.format("mqtt").options(host="127.0.0.1", port=port, row_property="true")
        writers = {}
        for name, writer in ((TO_FILES, files), (TO_BROKER, broker)):
            writer = writer.option("checkpointLocation", f"{folder}/{name}/checkpoint")
            writers[name] = writer.trigger(availableNow=True) if end else writer.trigger(processingTime="1 second")
        _keep_going(spark, writers)


def _keep_going(spark: Any, writers: dict[str, Any]) -> None:
    """Run queries until they end by themselves."""
    # The executor comes first, then one query after the other: Spark gives a worker ten seconds to start.
    spark.range(1).count()
    running = {name: _started(writer) for name, writer in writers.items()}
    while running:
        try:
            spark.streams.awaitAnyTermination()
        except StreamingQueryException as error:
            sys.stderr.write(f"{str(error)[:1000]}\n")
        spark.streams.resetTerminated()
        for name, query in list(running.items()):
            if query.isActive:
                continue
            if query.exception():
                running[name] = _started(writers[name])
            else:
                del running[name]


def _started(writer: Any) -> Any:
    """Start a query and return it as soon as it has gone on, or has failed."""
    query = writer.start()
    while query.isActive and not query.recentProgress:
        time.sleep(0.2)
    return query


def _subscribed(spark: Any, port: str, folder: str, name: str) -> Any:
    return (
        spark.readStream.format("mqtt")
        .options(host="127.0.0.1", port=port, filter="in/#", qos=2, client_id=name, spool=f"{folder}/{name}/spool")
        .options(max_rows_per_trigger="2000", segment_bytes="100000", split_bytes="20000", quiet="4")
        .load()
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
