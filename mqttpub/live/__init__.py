"""Talking to a broker: paho makes the socket and keeps it alive, everything else is ours.

    Session      one connection; each `step` waits once, reads, hands on what came, and writes
    Tap          the socket that paho sees; it shows every byte to an observer and cuts packets
    Incoming     checks what the broker sends and hands it on: acknowledgements to the sender, messages to the receiver
    Receiver     answers messages from the broker; a MessageStore or a queue has them before they are acknowledged
    Guard        the limits of our CONNECT, which the broker has to keep; ServerLimits are those of its CONNACK
    Failure      why a run ended, with its exit status (failures.py draws the tree)

`net/` makes the connection, and Session stands on it. `publish/` sends messages: its Publisher drives a Session, and
its Sender owns the exchanges. `subscribe/` receives messages: its Subscriber drives a Session as well. `reconnect` says
when another attempt makes sense. `request/` asks and takes the answers, and `bench/` measures a broker.
`authentication` computes SCRAM, whose messages Incoming exchanges.

Units: names end in `_s` for seconds and `_ns` for nanoseconds; times of packets are seconds since the epoch,
deadlines are moments of the monotonic clock.

It imports paho, `codec`, `lint`, `traffic`, `spec` and `common`, and nothing of `capture`, `view`, `columns` or `cli`.
The only threads are for a name server or a proxy that cannot be interrupted, and for `bench/`.
"""
