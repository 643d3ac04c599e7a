"""Captures on Spark, and MQTT as a Spark source and sink."""
