"""A Spark session: its JVM, its Python, its files."""
