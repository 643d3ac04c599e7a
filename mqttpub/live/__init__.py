"""Talking to a broker: paho owns the connection, mqttpub owns the publish flows."""
