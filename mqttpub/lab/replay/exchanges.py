"""The handshakes of one connection, driven by what the broker answers."""

from collections import Counter
from collections.abc import Callable

from ...codec.encode import encode
from ...live.limits import ServerLimits
from ...spec.declare import Packet
from ...spec.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from ...spec.reason_codes import FAILURE
from ...spec.versions import Version
from .comparison import SideComparison
from .deliveries import CAME
from .requests import MOST_IDS, CodedAnswer, Request, SessionState, answer_of

PACKET_NOT_FOUND = 0x92
"""Reason Code of a PUBCOMP for a Packet Identifier that is not in use (5.0: 3.7.2.1)."""


class SideExchanges:
    """What was sent and waits for its answers, and what came and is answered; `send` takes packets."""

    def __init__(
        self, session: SessionState, comparison: SideComparison, version: Version, send: Callable[[bytes], None]
    ) -> None:
        self.session = session
        self.limits = ServerLimits()
        self.acknowledged = 0
        self.refused: Counter[str] = Counter()
        """Reason Codes of messages that were refused."""
        self._comparison = comparison
        self._version = version
        self._send = send
        self._open: dict[Request, None] = {}
        """Requests of this connection that are not answered to the end."""
        self._messages = 0
        """How many of them are messages, which the Receive Maximum counts."""

    def connected(self, limits: ServerLimits, *, session_present: bool) -> None:
        """Go on with what earlier connections of the session have left, now that the server has accepted (5.0: 4.4).

        A PUBLISH goes out again where the capture has it again, a PUBREL now.
        """
        self.limits = limits
        if not session_present:
            for request in self.session.sent.values():
                request.packet_id, request.released = 0, False
            self.session.sent.clear()
            self.session.unreleased.clear()
        for request in self.session.sent.values():
            if request.released:
                self._begin(request)
                self._send(encode(Pubrel(packet_id=request.packet_id), self._version))

    def has_room(self, request: Request) -> bool:
        """Whether a request may be sent now (5.0: 4.9)."""
        if request.is_message and self._messages >= self.limits.receive_maximum:
            return False
        return bool(request.packet_id) or len(self.session.sent) < MOST_IDS

    def begin(self, request: Request) -> int:
        """Note that a request is sent now, and return its Packet Identifier; there has to be room."""
        if not request.packet_id:
            self.session.number(request)
        self._begin(request)
        return request.packet_id

    def _begin(self, request: Request) -> None:
        if request not in self._open:
            self._open[request] = None
            self._messages += request.is_message

    def awaits(self, connection: object, *, all: bool) -> bool:
        """Whether an answer is to come that the capture has on this connection, or any at all."""
        return bool(self._open) if all else any(each.shown_on is connection for each in self._open)

    def packet(self, packet: Packet) -> bool:
        """Take a packet of the broker; return whether it belongs to an exchange."""
        if isinstance(packet, Publish):
            self._publish(packet)
        elif isinstance(packet, Pubrel):
            self._pubrel(packet.packet_id)
        elif answer := answer_of(packet):
            self._answer(answer)
        else:
            return False
        return True

    def _publish(self, packet: Publish) -> None:
        number = packet.packet_id or 0
        if packet.qos != 2 or number not in self.session.unreleased:
            self._comparison.message(CAME, packet)
        if packet.qos == 1:
            self._send(encode(Puback(packet_id=number), self._version))
        elif packet.qos == 2:
            self.session.unreleased.add(number)
            self._send(encode(Pubrec(packet_id=number), self._version))

    def _pubrel(self, number: int) -> None:
        self._comparison.released(CAME)
        known = number in self.session.unreleased
        self.session.unreleased.discard(number)
        code = None if known or self._version < Version.V5 else PACKET_NOT_FOUND
        self._send(encode(Pubcomp(packet_id=number, reason_code=code), self._version))

    def _answer(self, answer: CodedAnswer) -> None:
        request = self.session.sent.get(answer.packet_id)
        if request is None or not request.expects(answer.name):
            self._comparison.note(answer.name, f"{answer.name} came for a Packet Identifier that does not wait for it")
            return
        if request.came is None:
            request.came = answer.codes
            self._comparison.answer(request)
        if not answer.last:
            request.released = True
            self._send(encode(Pubrel(packet_id=request.packet_id), self._version))
            return
        del self.session.sent[request.packet_id]
        if self._open.pop(request, self) is None:
            self._messages -= request.is_message
        if request.is_message:
            if (code := answer.codes[0]) < FAILURE:
                self.acknowledged += 1
            else:
                self.refused[self._comparison.code(answer.name, code)] += 1
        request.end()

    def over(self) -> None:
        """Note that no answer comes any more on this connection."""
        for request in self._open:
            request.gate.open()

    def missing(self, connection: object, *, all: bool) -> None:
        """Note the answers that the capture has on this connection, or all, and that did not come."""
        for request in self._open:
            if (all or request.shown_on is connection) and not request.done:
                self._comparison.missing(request)
