"""Receiving messages from a broker.

    Subscriber           the one loop that receives: connect, subscribe, hand on messages, connect again
    SubscribeOptions     how patient it is, whether it connects again, how it answers messages
    SubscriptionOutcome  what SUBACK said of one Topic Filter
    ReceivedMessage      a message: topic, payload, qos, retain, dup, packet_id, properties, time_ns (live/receive)
    Answering            how QoS 1 and 2 messages are answered: at once, later, not at all, with a Reason Code

Messages, one by one:

    subscriber = Subscriber(target, [Subscribe(packet_id=1, subscriptions=(Subscription(filter="a/#", qos=1),))])
    for messages in subscriber.run():
        while messages and wanted:
            use(messages.popleft())
        if not wanted:
            subscriber.stop()

`run` yields a deque once for each turn of the loop, also where it is empty. What the caller has taken from it by the
next turn is acknowledged; what it left there stays. Messages may come before the SUBACKs; `session` is the connection
from the SUBACKs on, and None while there is none. After `stop` it disconnects and ends. A caller that leaves the loop
otherwise leaves the messages of the last turn unacknowledged.

A caller that publishes on the same connection gives a Sender, and reaches the connection as `subscriber.session`:

    subscriber.sender.publish(Publication.of(packet, target.version), time.time())
    subscriber.session.send_output()

It imports what `live` imports.
"""
