"""From a host name to a connection that carries MQTT: TCP or a unix socket, proxy, TLS, WebSocket.

`target` and `transport` say where to go, `deadline` until when. `dial` builds the layers from `proxy`, `tls` and
`websocket`, `connection` puts them below paho; `errors` explains what failed in one sentence. Each layer closes its
socket when it fails. Deadlines are moments of the monotonic clock, in seconds.
"""
