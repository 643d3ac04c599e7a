"""From the bytes of a connection to MQTT packets."""
