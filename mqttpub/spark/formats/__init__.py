"""Captures and MQTT as formats of Spark."""
