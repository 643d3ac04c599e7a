"""The PUBLISH packets of a capture, over one connection."""

from collections.abc import Hashable

from ...codec.encode import encode
from ...live.net.target import Target
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec
from ...spec.properties import SUBSCRIPTION_IDENTIFIER, TOPIC_ALIAS
from ...spec.versions import Direction, Version
from ...traffic.context import PacketInContext
from ...traffic.events import Closed, GapSeen
from .replay import CaptureReplay
from .requests import SessionState, Step
from .rewrite import Rewrite, is_topic_name
from .side import ClientSide

_NOT_SENT = (TOPIC_ALIAS.id, SUBSCRIPTION_IDENTIFIER.id)
"""Properties that hold on one connection, or that only servers send."""


class OnlyPublishes:
    """Sends what clients published, or what the server sent to them, in the order of the capture."""

    def __init__(
        self, run: CaptureReplay, target: Target, rewrite: Rewrite, sender: Direction = Direction.CLIENT
    ) -> None:
        self.side = ClientSide(run, 0, target.connect.client_id, target.version, SessionState())
        self.side.comparison.follows_messages = False
        self._run = run
        self._target = target
        self._rewrite = rewrite
        self._sender = sender
        self._has_begun = False

    def packet(self, known: PacketInContext, *, picked: bool) -> None:
        """Take a packet of the capture."""
        event, packet = known.event, known.packet
        if isinstance(packet, Publish):
            if picked and event.direction is self._sender:
                self._publish(known, packet)
        elif isinstance(packet, Puback | Pubrec | Pubcomp) and self._answers(known):
            self.side.captured(packet, self._key(known, packet.packet_id), str)

    def _answers(self, known: PacketInContext) -> bool:
        """Whether a packet answers what is sent here, in the same words: Reason Codes came with 5.0."""
        event = known.event
        from_server = event.direction is Direction.SERVER and self._sender is Direction.CLIENT
        return from_server and event.version == self._target.version

    def closed(self, event: Closed, *, over: bool) -> None:
        """Take the end of a connection, which says nothing here."""

    def gap(self, event: GapSeen) -> None:
        """Take bytes that are missing, which may have been messages."""
        if event.direction in (None, self._sender):
            self._run.left_out["gaps in the capture"] += 1

    def finish(self) -> None:
        """End the connection."""
        if self._has_begun:
            self.side.do(Step("leave", self._target.disconnect))

    def _key(self, known: PacketInContext, packet_id: int | None) -> Hashable:
        return known.client or known.event.ends.number, packet_id

    def _publish(self, known: PacketInContext, packet: Publish) -> None:
        name = known.topic.name if known.topic else None
        if name is None:
            self._run.left_out["messages whose Topic Alias was set before the capture begins"] += 1
            return
        topic = self._rewrite(name)
        if topic != name and not is_topic_name(topic):
            self._run.left_out["messages whose rewritten topic is not a Topic Name"] += 1
            return
        if packet.dup and self._sender is Direction.SERVER:
            return
        kept = tuple(each for each in packet.properties if each.id not in _NOT_SENT)
        version = self._target.version
        packet = packet.replace(topic=topic, properties=kept if version == Version.V5 else ())
        try:
            data = encode(packet, version)
        except ValueError:
            self._run.left_out["messages that cannot be written"] += 1
            return
        self._begin(known)
        self.side.publish(Step(packet=packet, data=data, topic=topic), self._key(known, packet.packet_id))
        self._run.took(not packet.dup)

    def _begin(self, known: PacketInContext) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._run.begin(known.event.time)
            self._run.play(self.side)
            connect = self._target.connect
            self.side.do(Step(packet=connect, data=encode(connect, self._target.version)))
