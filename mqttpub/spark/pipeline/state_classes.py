"""What a state may consist of: the classes of a checkpoint, by tags that stay when a class moves or is renamed.

A row is a class, with the names of the attributes it keeps where the class itself does not list them
(in slots, or as fields of a named tuple). A class or attribute that is missing here cannot be saved;
`tests/spark/pipeline/test_checkpoint.py` then says so. Whoever changes what a class keeps also raises
`checkpoint.FORMAT`, since a run cannot resume from a state of another format.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from ...capture import types as capture_types
from ...capture.network import connections as tcp_connections
from ...capture.network import ip, out_of_order, tcp_side
from ...capture.protocol import (
    demux,
    evidence,
    handler,
    http_upgrade,
    mqtt_connection,
    mqtt_sender,
    resync,
    tls_connection,
    undecided,
    websocket,
)
from ...columns import connections, findings
from ...columns.decode import context
from ...columns.exchanges import apart, handshakes, pair, sessions
from ...columns.reassemble import state as reassembly
from ...columns.scan import buckets
from ...common import lru
from ...lint import fault, judge
from ...lint.connection import conversation, published, subscriptions
from ...lint.connection import state as lint_state
from ...spec import constraints, declare, packets, versions
from ...traffic import aliases, closings, events


class StateClass(NamedTuple):
    """A class and the attributes that a state keeps of its objects."""

    cls: Any
    attributes: tuple[str, ...]
    names: frozenset[str]
    """The same, to look them up."""
    built_whole: bool
    """Whether objects need their values from the start, because they are immutable or hashed by value."""


def _state_class(cls: Any, listed: str = "") -> StateClass:
    whole = True
    if issubclass(cls, Enum):
        names: tuple[str, ...] = ("value",)
    elif issubclass(cls, tuple):
        names = cls._fields
    elif issubclass(cls, declare.Group):
        names = tuple(cls.fields)
    else:
        slots = [name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())]
        names, whole = (*slots, *listed.split()), False
    return StateClass(cls, names, frozenset(names), whole)


def _table() -> dict[str, StateClass]:
    rows: dict[str, StateClass] = {
        tag: _state_class(cls)
        for tag, cls in {
            "capture/chunk": capture_types.Chunk,
            "capture/end": capture_types.End,
            "capture/flow": capture_types.Flow,
            "capture/lost": capture_types.Unreadable,
            "capture/missing": capture_types.Missing,
            "capture/record": capture_types.CaptureRecord,
            "capture/mqtt-connection": mqtt_connection.MqttConnection,
            "capture/datagram": ip._Datagram,
            "capture/side-figures": tcp_side.SideFigures,
            "capture/side": tcp_side.TcpSide,
            "capture/waiting": tcp_side.WaitingBytes,
            "capture/kept-bytes": resync.KeptBytes,
            "capture/packet-chain": resync.PacketChain,
            "capture/mqtt-sender": mqtt_sender.MqttSender,
            "capture/stream-gap": mqtt_sender.StreamGap,
            "capture/demux-settings": handler.DemuxSettings,
            "capture/finished": handler.Finished,
            "capture/handler-slot": handler.HandlerSlot,
            "capture/ignored-connection": handler.IgnoredConnection,
            "capture/byte-range": out_of_order.ByteRange,
            "capture/reorder-buffer": out_of_order.ReorderBuffer,
            "capture/http-head": http_upgrade.HttpHead,
            "columns/bucket": buckets.Bucket,
            "columns/left": sessions.UnfinishedMessage,
            "traffic/aliases": aliases.Aliases,
            "traffic/closed": events.Closed,
            "traffic/endpoints": events.Endpoints,
            "traffic/gap-seen": events.GapSeen,
            "traffic/packet-seen": events.PacketSeen,
            "traffic/tcp-figures": events.TcpFigures,
            "traffic/remark": events.Remark,
            "common/weighted-lru": lru.WeightedLru,
            "lint/match": subscriptions.Match,
            "lint/subscribed-filter": subscriptions.SubscribedFilter,
            "lint/sent-message": published.SentMessage,
            "lint/fault": fault.Fault,
            "lint/identifiers": lint_state.Identifiers,
            "lint/identifiers-in-use": lint_state.IdentifiersInUse,
            "lint/must-close": lint_state.MustClose,
            "lint/peer": lint_state.Peer,
            "lint/send-limits": lint_state.SendLimits,
            "lint/state": lint_state.ConnectionState,
            "lint/conversation": conversation.Conversation,
            "spec/law": constraints.StatementRef,
            "spec/property": declare.Property,
            "spec/subscription": packets.Subscription,
            "spec/will": packets.Will,
            "spec/direction": versions.Direction,
            "spec/version": versions.Version,
        }.items()
    }
    rows |= {f"packet/{cls.name.lower()}": _state_class(cls) for cls in declare.PACKETS.values()}
    rows |= {
        tag: _state_class(cls, listed)
        for tag, cls, listed in (
            ("capture/guessed-connection", mqtt_connection.GuessedConnection,
             "connection guess held level opener released settings settled slot"),
            ("capture/guess", evidence.Guess,
             "client client_because deciding different errors layout most_packets packets right size versions"),
            ("capture/flow-table", tcp_connections.FlowTable,
             "_closed _counts _old max_closed max_flows number recent"),
            ("capture/ip-reassembler", ip.IpReassembler, "_complete _skipped _waiting held_bytes max_fragments"),
            ("capture/mqtt-demux", demux.MqttDemux, "_closing _settings _slots _tls budget skipped"),
            ("capture/tls-connection", tls_connection.TlsConnection, "carried flow is_decrypted settings size"),
            ("capture/tls-connections", tls_connection.TlsConnections, "_named _open keys"),
            ("capture/undecided-connection", undecided.UndecidedConnection,
             "begun cost ended finders first flow forced held opener settings sizes slot tls unknown"),
            ("capture/packet-finder", resync.PacketFinder, (
                "_effort _held _pattern _scanned _segments _tried base chains direction filling needed seen tired "
                "versions window within"
            )),
            ("capture/memory-budget", handler.MemoryBudget, "limit shares size"),
            ("capture/skipped-connections", handler.SkippedConnections, "bytes connections"),
            ("capture/http-upgrade", http_upgrade.HttpUpgrade,
             "budget carried client first flow full heads held mqtt sizes skip slot"),
            ("capture/inflater", websocket.Inflater, "_compressed _given _inflated _taken _window keeps_context"),
            ("capture/websocket-connection", websocket.WebSocketConnection, "carried client flow frames remark"),
            ("capture/websocket-frames", websocket.WebSocketFrames,
             "_closed _compressed _control _first _header _inflater _key _left _open _told _turn masked remarks"),
            ("columns/connections", connections.Connections, "_closings _rows"),
            ("columns/judging", findings.Judging, "_judge"),
            ("columns/handshakes", handshakes.HandshakePackets, "numbers texts"),
            ("columns/context", context.Memory, "_clients _topics"),
            ("columns/apart-pairing", apart.ApartPairing, "_shared forgotten open"),
            ("columns/pairing", pair.Pairing, "_sessions forgotten open"),
            ("columns/sessions", sessions.Sessions, "_table"),
            ("columns/state", reassembly.State, "_keys before bucket max_packet reassembler records secrets streams"),
            ("columns/bucket-reassembler", reassembly.BucketReassembler, (
                "_held _internet _last _recent _shapes before bucket counts flows held_bytes max_held max_together "
                "names skipped"
            )),
            ("traffic/closings", closings.Closings, "_half"),
            ("lint/subscriptions", subscriptions.ClientSubscriptions, "_exact _filters _matches _room _wild full"),
            ("lint/publish-history", published.PublishHistory, "last retained sent"),
            ("lint/identifier-in-use", lint_state.IdentifierInUse, (
                "awaits content_hash filter_count filters interval_ns number pubrec_number pubrec_repeats qos "
                "request sent_ns size_bytes unanswered_repeats"
            )),
            ("lint/judge", judge.Judge, (
                "_acks _closings _conversations _ended _forgotten _tally _topics broken exercised"
            )),
        )
    }  # fmt: skip
    return rows


STATE_CLASSES = _table()
"""All classes of a state by their tags; `keeps` adds those of the rooms above."""
FUNCTIONS: dict[str, Callable[..., Any]] = {"capture/ignore-connect": mqtt_sender._ignore_connect}
"""Functions that objects of a state call later."""
METHODS = {
    ("capture/mqtt-connection", "connect"), ("capture/undecided-connection", "_slot"),
    ("capture/undecided-connection", "_ignored"),
}  # fmt: skip
"""Methods that objects of a state call later."""


def keeps(tag: str, attributes: str) -> Callable[[type], Any]:
    """Make a class part of states, with the attributes that these keep of its objects."""

    def declared(cls: Any) -> Any:
        STATE_CLASSES[tag] = _state_class(cls, attributes)
        return cls

    return declared
