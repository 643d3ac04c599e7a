"""The embedded broker and the other things to try MQTT with."""
