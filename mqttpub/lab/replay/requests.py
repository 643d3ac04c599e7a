"""What waits for an answer, what waits until an answer has come, and what a client does next."""

from collections.abc import Callable, Hashable
from typing import NamedTuple

from ...spec.declare import Packet
from ...spec.packets import Disconnect, Puback, Pubcomp, Publish, Pubrec, Suback, Subscribe, Unsuback, Unsubscribe
from ...spec.reason_codes import FAILURE

MOST_IDS = 65_535
STEP_BYTES = 1000
Codes = tuple[int, ...]
"""The Reason Codes of an answer."""


class Gate:
    """Opens once; what waits for it is woken then."""

    __slots__ = ("_waiting", "is_open")

    def __init__(self) -> None:
        self.is_open = False
        self._waiting: dict[Callable[[], None], None] = {}

    def open(self) -> None:
        """Open the gate."""
        self.is_open = True
        waiting, self._waiting = self._waiting, {}
        for wake in waiting:
            wake()

    def tell(self, wake: Callable[[], None]) -> None:
        """Call `wake` when the gate opens."""
        self._waiting[wake] = None


class Request:
    """A packet that is answered: a PUBLISH of QoS 1 or 2, a SUBSCRIBE, an UNSUBSCRIBE; or the CONNECT."""

    __slots__ = ("answer", "came", "captured", "done", "gate", "packet_id", "released", "shown_on", "side", "topic")

    def __init__(self, answer: str, topic: str, side: object) -> None:
        self.answer = answer
        """Name of the packet whose Reason Codes are compared."""
        self.topic = topic
        """Topic Name or first Topic Filter."""
        self.side = side
        """The connection that sends it, the last one where several do."""
        self.packet_id = 0
        """Packet Identifier in the replay; 0 before it is sent."""
        self.captured: Codes | None = None
        """What the capture answers; None while that has not been read."""
        self.came: Codes | None = None
        self.released = False
        """Whether a PUBREC has come and no PUBCOMP."""
        self.done = False
        """Whether the last answer has come."""
        self.shown_on: object = None
        """The connection on which the capture has the last answer."""
        self.gate = Gate()
        """Opens with the last answer, or when none can come any more."""

    @property
    def is_message(self) -> bool:
        """Whether it is a PUBLISH."""
        return self.answer in _OF_MESSAGES

    def expects(self, name: str) -> bool:
        """Whether this answer can come next; PUBREC may come again."""
        return name == self.answer or (self.released and name == "PUBCOMP")

    def end(self) -> None:
        """Take the last answer."""
        self.done = True
        self.released = False
        self.gate.open()


_OF_MESSAGES = frozenset(("PUBACK", "PUBREC"))
_ANSWERS: dict[type[Packet], str] = {Subscribe: "SUBACK", Unsubscribe: "UNSUBACK"}


def request_of(packet: Publish | Subscribe | Unsubscribe, topic: str, side: object) -> Request:
    """Return the request that a packet with a Packet Identifier is."""
    answer = ("PUBACK" if packet.qos == 1 else "PUBREC") if isinstance(packet, Publish) else _ANSWERS[type(packet)]
    return Request(answer, topic, side)


class CodedAnswer(NamedTuple):
    """What an answer says."""

    name: str
    packet_id: int
    codes: Codes
    last: bool
    """Whether nothing follows it."""


def answer_of(packet: Packet) -> CodedAnswer | None:
    """Return what an answer to a request says; None for another packet."""
    if isinstance(packet, Puback | Pubrec | Pubcomp):
        code = packet.reason_code or 0
        return CodedAnswer(packet.name, packet.packet_id, (code,), not isinstance(packet, Pubrec) or code >= FAILURE)
    if isinstance(packet, Suback | Unsuback):
        return CodedAnswer(packet.name, packet.packet_id, packet.reason_codes, True)
    return None


class SessionState:
    """What client and server keep for each other beyond a connection, with the Packet Identifiers of both worlds."""

    def __init__(self) -> None:
        self.captured: dict[Hashable, Request] = {}
        """Requests that the capture has not answered to the end, by what names them there."""
        self.sent: dict[int, Request] = {}
        """Requests that were sent and not answered to the end, by their Packet Identifier in the replay."""
        self.unreleased: set[int] = set()
        """Packet Identifiers of QoS 2 messages that came and whose PUBREL did not."""
        self.opened: Gate | None = None
        """Opens with the CONNACK of its last connection."""
        self._last = 0

    def number(self, request: Request) -> bool:
        """Give a request a free Packet Identifier; return whether there was one (5.0: 2.2.1)."""
        if len(self.sent) >= MOST_IDS:
            return False
        while True:
            self._last = self._last % MOST_IDS + 1
            if self._last not in self.sent:
                break
        request.packet_id = self._last
        self.sent[self._last] = request
        return True


class Step(NamedTuple):
    """What a client does next."""

    kind: str = "packet"
    """`packet`, or how the connection ends: `FIN`, `RST`, `server` (the server ends it), `leave` (nobody did)."""
    packet: Packet | None = None
    """None for bytes that are sent as they were captured; with `leave`, a DISCONNECT."""
    data: bytes = b""
    after: int = 0
    """How many of the gates that the run holds have to be open before."""
    gate: Gate | None = None
    """One more that has to be open."""
    request: Request | None = None
    topic: str | None = ""
    """Topic Name of a PUBLISH, with its alias resolved; None for an alias that was never set."""
    awaits: int = 0
    """Number of messages and PUBRELs of the server that come before, if they come at all."""

    @property
    def size_bytes(self) -> int:
        """About how much memory it takes: its bytes, and its values."""
        return STEP_BYTES + 2 * len(self.data)

    @property
    def is_last(self) -> bool:
        """Whether nothing, or not all, comes for subscriptions after it."""
        return isinstance(self.packet, Disconnect | Unsubscribe) or self.kind != "packet"
