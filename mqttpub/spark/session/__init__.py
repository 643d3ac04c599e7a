"""A Spark session: find Java (`jvm`), start the JVM or connect to a server, ship mqttpub to workers, end cleanly."""
