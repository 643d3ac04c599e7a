"""MQTT packets from Python: decode, build, check, publish, receive; MQTT 5.0, 3.1.1 and 3.1.

    import mqttpub

    decoded = mqttpub.decode(bytes.fromhex("3206 0001 61 000a 00"), "5.0", "client")
    decoded.packet           Publish(topic='a', qos=1, packet_id=10, ...)
    decoded.findings         every statement of the specification that the bytes break
    print(mqttpub.dump(decoded))

    mqttpub.encode(mqttpub.Publish(topic="a/b", qos=1, packet_id=10, payload=b"21.5"))

    for event in mqttpub.read("morning.pcapng"):
        ...

    with mqttpub.subscribe("mqtt://localhost", "a/#", count=1) as messages:
        for outcome in mqttpub.publish("mqtt://localhost", "a/b", "21.5", qos=2):
            print(outcome.outcome, outcome.reason)
        for message in messages:
            print(message.topic, message.payload)

What `__all__` names here and in `mqttpub.spark` is the interface; everything else may change at any time. Versions are
texts such as "5.0", ends of a connection are "client" and "server". `mqttpub help python` is the guide.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
"""True for type checkers; the module typing takes longer to import than this one."""

if TYPE_CHECKING:
    from .api.arrow import Tables, tables
    from .api.check import check
    from .api.messages import Publishing, PublishOutcome, Receiving, publish, subscribe
    from .api.packets import (
        decode,
        dump,
        encode,
        properties,
        property_values,
        reason_code,
        reason_name,
    )
    from .api.traffic import Recorder, read
    from .capture.types import BadCapture, NoKeys
    from .codec.tree import Decoded, Finding, Node
    from .common.bad_text import BadText
    from .common.errors import UserError
    from .live.failures import (
        ConnectionLost,
        ConnectionRefused,
        Failure,
        NoConnack,
        NotConnected,
        PeerFault,
        Refused,
        Unanswered,
        Unusable,
    )
    from .live.net.transport import Tls
    from .live.receive import ReceivedMessage
    from .spec.declare import Packet, Property
    from .spec.packets import (
        Auth,
        Connack,
        Connect,
        Disconnect,
        Pingreq,
        Pingresp,
        Puback,
        Pubcomp,
        Publish,
        Pubrec,
        Pubrel,
        Suback,
        Subscribe,
        Subscription,
        Unsuback,
        Unsubscribe,
        Will,
    )
    from .spec.versions import Direction, Version
    from .traffic.context import PacketInContext
    from .traffic.events import Closed, GapSeen, PacketSeen, Remark
    from .wire.cursor import Span

_HOMES = {
    "api.arrow": "Tables tables",
    "api.messages": "PublishOutcome Publishing Receiving publish subscribe",
    "api.check": "check",
    "api.packets": "decode dump encode properties property_values reason_code reason_name",
    "api.traffic": "Recorder read",
    "capture.types": "BadCapture NoKeys",
    "codec.tree": "Decoded Finding Node",
    "common.bad_text": "BadText",
    "common.errors": "UserError",
    "live.failures": (
        "ConnectionLost ConnectionRefused Failure NoConnack NotConnected PeerFault Refused Unanswered Unusable"
    ),
    "live.net.transport": "Tls",
    "live.receive": "ReceivedMessage",
    "spec.declare": "Packet Property",
    "spec.packets": (
        "Auth Connack Connect Disconnect Pingreq Pingresp Puback Pubcomp Publish Pubrec Pubrel Suback Subscribe "
        "Subscription Unsuback Unsubscribe Will"
    ),
    "spec.versions": "Direction Version",
    "traffic.context": "PacketInContext",
    "traffic.events": "Closed GapSeen PacketSeen Remark",
    "wire.cursor": "Span",
}
"""The module of each name, which is imported when the name is first used: commands start without them."""
_MODULE = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Auth", "BadCapture", "BadText", "Closed", "Connack", "Connect", "ConnectionLost", "ConnectionRefused",
    "Decoded", "Direction", "Disconnect", "Failure", "Finding", "GapSeen", "NoConnack", "NoKeys", "Node",
    "NotConnected", "Packet", "PacketInContext", "PacketSeen", "PeerFault", "Pingreq", "Pingresp", "Property",
    "Puback", "Pubcomp", "Publish", "PublishOutcome", "Publishing", "Pubrec", "Pubrel", "ReceivedMessage",
    "Receiving", "Recorder", "Refused", "Remark", "Span", "Suback", "Subscribe", "Subscription", "Tables", "Tls",
    "Unanswered", "Unsuback", "Unsubscribe", "Unusable", "UserError", "Version", "Will", "__version__", "check",
    "decode", "dump", "encode", "properties", "property_values", "publish", "read", "reason_code", "reason_name",
    "subscribe", "tables",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _MODULE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULE[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
