"""A capture played again against a broker, and what the broker does otherwise than in the capture.

    replay       the events of a capture in their time (CaptureReplay)
    whole        what they become: each connection over one of its own (WholeSides)
    publishes    or PUBLISH packets over one connection (OnlyPublishes)
    side         one connection: steps in their order, each when it may be done (ClientSide)
    exchanges    its handshakes, driven by the answers; requests: what waits for one
    outgoing     its PUBLISH packets, as the broker lets them be sent
    comparison   its answers held against the capture; deliveries: the messages of its subscriptions
    loop         sockets, times and threads; rewrite: topics; result: what is reported

A capture is read once, and no further than its connections can follow. What the capture shows as answered before a
packet is awaited before that packet is sent: CONNACK, SUBACK, UNSUBACK and the end of any connection; and the
acknowledgement of a message, where another client publishes to the same topic.
"""
