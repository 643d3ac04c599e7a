"""Publish MQTT messages and read every byte that goes over the wire."""

__version__ = "0.1.0"
