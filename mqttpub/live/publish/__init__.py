"""Publishing: from a source of messages to the outcome of each.

`sources` give each Publication, the `Sender` keeps it as an OutgoingMessage with the state of its handshake until it
ends, and the `Publisher` drives a Session and yields outcomes. An `Outbox` is the Journal of a DurableSender: what a
packet depends on is on disk before the packet is sent. Nothing here prints; only its Failures carry an exit status.
"""
