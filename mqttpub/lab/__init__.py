"""Things to try MQTT with: an embedded broker, and what replays, steps through and examines connections."""
