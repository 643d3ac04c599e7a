"""The lines of -d, which name the packets that pass."""

import sys
from typing import Any

from ....codec.decode import decode
from ....codec.stream import Frame
from ....common.escape import escape
from ....spec.properties import ASSIGNED_CLIENT_IDENTIFIER, value_of
from ....spec.versions import Direction, Version


class DebugLines:
    """Observes a tap and prints a line on standard output for each packet."""

    def __init__(self, client_id: str, version: Version, *, subscribes: bool = False) -> None:
        self._client = escape(client_id) or "(null)"
        self._subscribes = subscribes
        self._version = version
        self._last = 0
        """The number of the last packet that was sent: a PUBLISH with QoS 0 is shown with the next one."""

    def __call__(self, time_s: float, frame: Frame) -> None:
        """Print what one packet is."""
        direction = frame.direction or Direction.CLIENT
        decoded = decode(frame.data, frame.version or self._version, direction=direction)
        packet: Any = decoded.packet
        if packet is None:
            return
        if decoded.name == "CONNACK":
            self._client = escape(value_of(packet.properties, ASSIGNED_CLIENT_IDENTIFIER, self._client))
        for line in _LINES[direction](self, decoded.name, packet):
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    # what the client sends

    def _sent(self, name: str, packet: Any) -> list[str]:
        words = {
            "PUBACK": lambda: f" (m{packet.packet_id}, rc{packet.reason_code or 0})",
            "PUBREC": lambda: f" (m{packet.packet_id}, rc{packet.reason_code or 0})",
            "PUBREL": lambda: f" (m{packet.packet_id})",
            "PUBCOMP": lambda: f" (m{packet.packet_id})",
            "PUBLISH": lambda: self._publish(packet, self._number(packet)),
        }
        if name in ("SUBSCRIBE", "UNSUBSCRIBE"):
            self._last = packet.packet_id
        if name == "SUBSCRIBE":
            return [
                f"Client {self._client} sending SUBSCRIBE (Mid: {packet.packet_id}, Topic: {escape(each.filter)}, "
                f"QoS: {each.qos}, Options: 0x{_options(each):02x})"
                for each in packet.subscriptions
            ]
        if name == "UNSUBSCRIBE":
            return [
                f"Client {self._client} sending UNSUBSCRIBE (Mid: {packet.packet_id}, Topic: {escape(each)})"
                for each in packet.filters
            ]
        return [f"Client {self._client} sending {name}{words.get(name, str)()}"]

    def _number(self, packet: Any) -> int:
        self._last = packet.packet_id or self._last + 1
        return self._last

    # what it receives

    def _received(self, name: str, packet: Any) -> list[str]:
        if name == "DISCONNECT":
            return [f"Received DISCONNECT ({packet.reason_code or 0})"]
        if name == "SUBACK" and self._subscribes:
            granted = ", ".join(map(str, packet.reason_codes))
            return [f"Client {self._client} received SUBACK", f"Subscribed (mid: {packet.packet_id}): {granted}"]
        words = {
            "CONNACK": lambda: f" ({packet.reason_code})",
            "PUBACK": lambda: f" (Mid: {packet.packet_id}, RC:{packet.reason_code or 0})",
            "PUBCOMP": lambda: f" (Mid: {packet.packet_id}, RC:{packet.reason_code or 0})",
            "PUBREC": lambda: f" (Mid: {packet.packet_id})",
            "PUBREL": lambda: f" (Mid: {packet.packet_id})",
            "PUBLISH": lambda: self._publish(packet, packet.packet_id or 0),
        }
        return [f"Client {self._client} received {name}{words.get(name, str)()}"]

    def _publish(self, packet: Any, number: int) -> str:
        return (
            f" (d{packet.dup:d}, q{packet.qos}, r{packet.retain:d}, m{number}, '{escape(packet.topic) or '(null)'}', "
            f"... ({len(packet.payload)} bytes))"
        )


def _options(subscription: Any) -> int:
    return int(subscription.retain_handling << 4 | subscription.retain_as_published << 3 | subscription.no_local << 2)


_LINES = {Direction.CLIENT: DebugLines._sent, Direction.SERVER: DebugLines._received}
