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
    qos: int = 2
    """Highest QoS that is accepted; announced as Maximum QoS when lower than 2."""
    retain: bool = True
    """Whether retained messages are kept; announced as Retain Available when not."""
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
