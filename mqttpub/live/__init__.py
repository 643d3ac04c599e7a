"""Talking to a broker: paho owns the connection, mqttpub owns the publish flows.

    Session      one connection and its loop; every packet in and out passes it
    Tap          the socket that paho sees; it records every byte and cuts packets
    Incoming     checks what the broker sends and hands it on: acknowledgements to the sender, messages to the receiver
    Receiver     answers messages from the broker; a MessageStore keeps them before they are acknowledged
    Failure      why a run ended, with its exit status (failures.py draws the tree)

`net/` makes the connection, and Session stands on it. `publish/` sends messages: its Publisher drives a Session.

Units: names end in `_s` for seconds and `_ns` for nanoseconds; times of packets are seconds since the epoch,
deadlines are moments of the monotonic clock.

It imports paho, `codec`, `lint`, `spec` and `common`, and nothing of `capture`, `view`, `columns` or `cli`. There are
no threads but for a name server or a proxy that cannot be interrupted, and for `publish/benchmark`.
"""
