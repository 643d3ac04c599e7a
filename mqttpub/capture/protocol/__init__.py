"""The pieces of a TCP connection in, events of MQTT out; what is not MQTT is counted.

A Handler takes pieces, a HandlerSlot holds the handler of a connection so that another one can replace it. `demux`
owns the slots; `undecided` chooses the first handler; `http_upgrade`, `websocket` and `tls_connection` unpack;
`mqtt_connection` and `mqtt_sender` cut packets; `resync` finds packets after a gap, `evidence` guesses the version.
"""
