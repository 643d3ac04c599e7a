"""From a host name to a connection that carries MQTT."""
