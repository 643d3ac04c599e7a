"""Records to MQTT frames, many at a time."""
