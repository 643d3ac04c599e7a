"""Asking over MQTT: a message with a Response Topic, and the answers that carry its Correlation Data (5.0: 4.10).

    Requester   subscribes to the Response Topic, publishes requests, and yields an Answer for each that belongs to one
    Round       one request: its Correlation Data, when it was sent, how many answers have come

Before 5.0 packets have no properties, so the next message on the topic of the answers is taken for the answer.
"""
