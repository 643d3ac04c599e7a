"""Bytes and positions: spans, the cursor, and the data types of MQTT."""
