"""What the packets are about: words of the specification that are neither a packet nor a property, in our own words."""

from typing import NamedTuple


class Concept(NamedTuple):
    """An idea of the protocol; `section` is that of MQTT 5.0."""

    name: str
    section: str
    text: str
    aliases: tuple[str, ...] = ()
    """Other words that people use for it."""
    see: tuple[str, ...] = ()
    """Packets and properties that carry it."""


CONCEPTS = (
    Concept(
        "QoS", "4.3",
        "How sure the sender can be that a message arrives. 0, at most once: sent, and never acknowledged. 1, at "
        "least once: kept until PUBACK comes and sent again after a reconnection, so it may arrive twice. 2, "
        "exactly once: PUBREC, PUBREL and PUBCOMP let both ends forget it safely. Publisher to server and server "
        "to subscriber are two deliveries: a subscriber gets the lower of the QoS of "
        "the message and of its own subscription.",
        ("quality of service", "qos 0", "qos 1", "qos 2", "at most once", "at least once", "exactly once"),
        ("PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "Maximum QoS"),
    ),
    Concept(
        "DUP", "3.3.1.1",
        "Set on a PUBLISH of QoS 1 or 2 that may have been sent before; always 0 with QoS 0. A receiver cannot "
        "conclude from it that it has the message already, and a server does not pass it on to subscribers.",
        ("dup flag", "duplicate", "redelivery"), ("PUBLISH",),
    ),
    Concept(
        "RETAIN", "3.3.1.3",
        "Set by a publisher, the server keeps the message as the last one of its topic and gives it to those who "
        "subscribe later; with an empty payload it removes what is kept. A subscriber sees it set on a message "
        "that was kept when it subscribed, and on others only if it asked for Retain As Published.",
        ("retain flag", "retained", "retained message"), ("PUBLISH", "SUBSCRIBE", "Retain Available"),
    ),
    Concept(
        "Will", "3.1.2.5",
        "A message that CONNECT leaves with the server, to be published when the connection ends without a "
        "DISCONNECT of Reason Code 0x00: the network failed, no packet came for 1.5 times the Keep Alive, or a "
        "packet was faulty. Since 5.0 a Will Delay Interval postpones it, and DISCONNECT 0x04 asks for it.",
        ("last will", "will message", "lwt", "last will and testament", "testament"),
        ("CONNECT", "DISCONNECT", "Will Delay Interval"),
    ),
    Concept(
        "Keep Alive", "3.1.2.10",
        "The longest time, in seconds, that a client lets pass between two packets; it sends PINGREQ when it has "
        "nothing else to send. A server closes the connection when no packet comes for 1.5 times as long. 0 turns it "
        "off.",
        ("heartbeat",), ("CONNECT", "PINGREQ", "PINGRESP", "Server Keep Alive"),
    ),
    Concept(
        "Remaining Length", "2.1.4",
        "The number of bytes of a packet that follow it: neither the first byte nor itself count. It is a "
        "Variable Byte Integer, so it takes 1 to 4 bytes and is 268,435,455 at most.",
        ("length",), ("Maximum Packet Size",),
    ),
    Concept(
        "Variable Byte Integer", "1.5.5",
        "A number in 1 to 4 bytes, 7 bits of it in each, the lowest first; the top bit of a byte says that "
        "another follows. 7f is 127, 80 01 is 128, and ff ff ff 7f, 268,435,455, is the highest.",
        ("varint", "variable length integer"),
    ),
    Concept(
        "Fixed header", "2.1.1",
        "The first byte and the Remaining Length, which every packet has. The upper four bits of the first byte "
        "are the packet type; the lower four are DUP, QoS and RETAIN in PUBLISH, and fixed in all others.",
        ("header", "first byte", "control byte", "flags"),
    ),
    Concept(
        "Session", "4.1",
        "What both ends keep for a Client Identifier beyond one connection: subscriptions, and messages of QoS 1 "
        "and 2 whose handshake is not complete. Clean Start begins a new session; the Session Expiry Interval says "
        "how long it is kept after the connection. Before 5.0, Clean Session 1 uses no earlier session "
        "and keeps none.",
        ("session state", "persistent session"),
        ("CONNECT", "CONNACK", "Session Expiry Interval", "Assigned Client Identifier"),
    ),
    Concept(
        "Wildcards", "4.7.1",
        "In a Topic Filter, + stands for exactly one level and # at its end for all levels that follow, including "
        "none: a/# also matches a. A Topic Name has no wildcard. A filter that begins with one does not match "
        "topics that begin with $.",
        ("wildcard", "+", "#", "single level wildcard", "multi level wildcard"),
        ("SUBSCRIBE", "UNSUBSCRIBE", "Wildcard Subscription Available"),
    ),
    Concept(
        "$SYS", "4.7.2",
        "Topics that begin with $ belong to the server, and many report about themselves below $SYS/. The filters "
        "# and +/a do not match them; $SYS/# does.",
        ("sys", "$", "$ topics", "sys topics"), ("SUBSCRIBE",),
    ),
    Concept(
        "Shared Subscription", "4.8.2",
        "A subscription to $share/NAME/FILTER, since 5.0: the clients that use the same name and filter share the "
        "messages, each of which goes to one of them. No Local must not be set in it.",
        ("shared subscriptions", "$share", "share name"), ("SUBSCRIBE", "Shared Subscription Available"),
    ),
    Concept(
        "Topic", "4.7",
        "Text of at least one character and at most 65,535 bytes of UTF-8, divided into levels by /. Upper and "
        "lower case differ, /a and a are two topics, and there is no U+0000 in it.",
        ("topics", "topic level"), ("PUBLISH", "SUBSCRIBE", "Topic Alias"),
    ),
    Concept(
        "Flow control", "4.9",
        "Since 5.0 each end limits, by its Receive Maximum, how many messages of QoS 1 and 2 the other may have "
        "unacknowledged at once. QoS 0 is not limited.",
        ("in flight", "inflight", "window", "send quota"), ("Receive Maximum",),
    ),
    Concept(
        "Request and response", "4.10",
        "A request names in its Response Topic where the answer should go, and the answer carries the same "
        "Correlation Data, so the requester knows which request it answers. Since 5.0.",
        ("request", "response", "request response"), ("Response Topic", "Correlation Data", "Response Information"),
    ),
    Concept(
        "Enhanced authentication", "4.12",
        "Authentication in several steps, since 5.0: CONNECT names a method, AUTH packets go back and forth, and "
        "CONNACK or DISCONNECT ends it. The client may start it again later with AUTH 0x19.",
        ("authentication", "re-authentication"), ("CONNECT", "AUTH", "Authentication Method", "Authentication Data"),
    ),
)  # fmt: skip
