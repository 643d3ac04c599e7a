"""Limits of the embedded broker, and the parts of MQTT it offers."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Bounds of one broker; sizes are in bytes, times in seconds."""

    packet: int = 1 << 20
    """Largest packet that is accepted; announced as Maximum Packet Size."""
    connect: int = 384 << 10
    """Largest CONNECT."""
    request: int = 64 << 10
    """Largest packet of any other type but PUBLISH, and most properties in a PUBLISH."""
    receive: int = 100
    """QoS 2 messages that a client may have unreleased; announced as Receive Maximum."""
    aliases: int = 10
    """Highest Topic Alias that is accepted; announced as Topic Alias Maximum."""
    alias_size: int = 1 << 20
    """Characters of the Topic Names that the aliases of a client stand for."""
    qos: int = 2
    """Highest QoS that is accepted; announced as Maximum QoS when lower than 2."""
    retain: bool = True
    """Whether retained messages are kept; announced as Retain Available when not."""
    wildcards: bool = True
    """Whether a Topic Filter may have wildcards; announced as Wildcard Subscription Available when not."""
    identifiers: bool = True
    """Whether Subscription Identifiers are kept; announced as Subscription Identifiers Available when not."""
    shared: bool = True
    """Whether subscriptions may be shared; announced as Shared Subscription Available when not."""
    keep_alive: int | None = None
    """Keep Alive of all clients of MQTT 5, whatever they ask for; announced as Server Keep Alive."""
    expiry: int = 0xFFFFFFFF
    """Longest Session Expiry Interval in seconds; announced as that of a session that asks for more."""
    response_information: str = ""
    """What CONNACK gives to clients that ask for Response Information."""
    levels: int = 200
    """Levels in a Topic Name or Topic Filter."""
    window: int = 1000
    """Messages sent to a client and not acknowledged, if its Receive Maximum allows so many."""
    queue: int = 100_000
    """Messages queued for a client."""
    held: int = 64 << 20
    """Size of the messages queued for a client, acknowledgements included."""
    output: int = 16 << 20
    """Size of the output that a client has not read yet."""
    retained: int = 8 << 20
    """Size of all retained messages; below `output`, so that one client can ask for all."""
    sessions: int = 10_000
    """Sessions, connected or not."""
    subscriptions: int = 10_000
    """Subscriptions of one session."""
    clients: int = 500
    """Connections at a time."""
    patience: float = 10.0
    """Time for the CONNECT to arrive."""
    linger: float = 1.0
    """Time for a client to read the last packet and close."""


LIMITS = Limits()
