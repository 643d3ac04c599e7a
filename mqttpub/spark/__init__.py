"""Captures on Spark, and MQTT as a Spark source and sink."""

from .register import register

__all__ = ["register"]
