"""What the broker sends, packet by packet: read, checked, then handed to whoever it is for."""

from itertools import islice
from typing import Any, Protocol

from ..codec.connect_version import RETURN_CODES
from ..codec.encode import encode
from ..codec.fast_decode import Irregular, multi_byte, reader
from ..codec.frame_runs import FrameRun
from ..lint.packet.fast import is_clean
from ..spec.declare import Packet, Property
from ..spec.packets import Auth, Connack, Disconnect, Pingresp, Puback, Pubcomp, Publish, Pubrec, Suback, Unsuback
from ..spec.properties import AUTHENTICATION_DATA, AUTHENTICATION_METHOD, REASON_STRING, SERVER_REFERENCE, value_of
from ..spec.reason_codes import Codes
from ..spec.versions import Direction, Version
from .authentication import CONTINUE, METHODS, NotAuthentic, ScramExchange
from .failures import MALFORMED, ConnectionRefused, NotConnected, OutOfOrder, PeerFault, Refused
from .known_heads import KnownHeads
from .limits import Guard
from .net.target import Target
from .receive import ReceivedMessage, Receiver
from .shield import SHIELD
from .tap import Tap

OTHER_VERSION = (1, 0x84)
"""Codes that mean that the broker does not support the version."""
FAULTS_OF_PUBLISHERS = frozenset(("MQTT5-3.3.2-14",))
"""Rules that a broker need not check and must not mend: it sends a Response Topic unaltered (5.0: 3.3.2-15).

Otherwise any client that publishes a wildcard there would end the connections of all subscribers.
"""
UNPROVED = "did not prove that it knows the password"
ACKS = frozenset((Puback.code, Pubrec.code, Pubcomp.code))
LEGAL = {
    cls.code << 4: frozenset(Codes(cls.name).rows[Version.V5]) for cls in (Puback, Pubrec, Pubcomp)
}  # fmt: skip
"""Reason Codes that are allowed after these first bytes."""
OWN_REASONS = frozenset((0, 0x89, 0x8B, 0x8D, 0x8E, 0x93, 0x98, 0x9C, 0x9D, 0xA0))
"""Codes of a DISCONNECT by which a server ends a connection without blaming what it was sent last."""


Mark = tuple[int, int]
"""How much a sender has put out: its writes, and messages in batches."""


class AckHandler(Protocol):
    """The sender's half of the publish flows, as far as a session has to know it."""

    output: list[bytes]
    """The packets that `take_output` will return."""

    @property
    def awaited(self) -> str:
        """The acknowledgement that the broker owes first, in words; empty for none."""

    @property
    def settled(self) -> bool:
        """Whether the broker has answered for every message, so that no end of the connection leaves one in doubt."""

    def acknowledge(self, code: int, packet_id: int, reason: int | None, time_s: float, text: str) -> bool:
        """Take an acknowledgement; return whether it brings a message forward. Raises OutOfOrder."""

    def acknowledge_many(self, code: int, packet_ids: list[int], reasons: bytes | None, time_s: float) -> int:
        """Take acknowledgements of one type, up to the first that is not what is usually awaited; return how many."""

    def take_output(self) -> bytes:
        """Return the packets to write, and forget them."""

    def prove(self) -> None:
        """Note that the peer has received everything."""

    def mark(self) -> Mark:
        """Return how much was put out so far."""

    def outlive(self, mark: Mark) -> None:
        """Note that the connection is open some time after what was put out by then had left."""

    def lose(self) -> None:
        """Note the end of the connection."""


class Incoming:
    """Reads the packets of one connection. Acknowledgements go to `sender`, messages to `receiver`.

    `receiver` may be None until a message comes, as a broker may send one to any session that it still has.
    Raises PeerFault where the broker breaks the protocol, ConnectionRefused and Refused where it refuses.
    """

    def __init__(
        self, target: Target, sender: AckHandler | None, receiver: Receiver | None,
        exchange: ScramExchange | None = None,
    ) -> None:  # fmt: skip
        self.target = target
        self.sender = sender
        self.receiver = receiver
        self.guard = Guard(target.connect, target.version)
        self._heads = KnownHeads(target.version)
        self._exchange = exchange
        self.connack: Connack | None = None
        self._asked: int | None = None
        """Packet Identifier of the last SUBSCRIBE or UNSUBSCRIBE."""
        self._answer: tuple[Suback | Unsuback, bytes] | None = None
        self.pinged = False
        """Whether a PINGRESP has come since the last probe."""
        self.farewell: Refused | None = None
        """Why the broker closes, where that blames nothing that the client sent."""
        self.closing = False
        """Whether the client has sent DISCONNECT, or is about to."""

    @property
    def settled(self) -> bool:
        """Whether no end of the connection leaves the outcome of a message in doubt."""
        return self.sender is None or self.sender.settled

    def ask(self, packet_id: int) -> None:
        """Note that a SUBSCRIBE or UNSUBSCRIBE with this Packet Identifier awaits its answer."""
        self._asked, self._answer = packet_id, None

    def answered(self) -> tuple[Suback | Unsuback, bytes] | None:
        """Return the SUBACK or UNSUBACK that was awaited, and its bytes; None until it has come."""
        return self._answer

    def read_others(self, tap: Tap) -> None:
        """Read the packets that are not part of the publish flows; raise PeerFault for bytes that are not a packet."""
        self._read_others(tap)
        if tap.oversize:
            raise self.guard.oversize(tap.oversize)
        if tap.broken:
            raise tap.broken
        if tap.lost:
            where = f"at offset {tap.lost.offset} of the connection"
            fault = f"the broker sent bytes that are not an MQTT packet, {where}: {tap.lost.message}"
            raise PeerFault(fault, tap.unfinished, MALFORMED)

    def _read_others(self, tap: Tap) -> None:
        others, inbox = tap.others, tap.inbox
        while others:
            if self.connack is None and inbox and inbox[0][1].offset < others[0][1].offset:
                break
            frame = others.popleft()[1]
            data = frame.data
            packet = read(data, frame.version or self.target.version)
            if self.connack is None and not isinstance(packet, (Connack, Auth)):
                self.guard.before_connack(packet, self._name(packet), data)
            self.guard.check_explanation(packet, data)
            if handler := _OTHERS.get(type(packet)):
                handler(self, packet, data, tap)
        if self.connack is None and inbox:
            data = inbox[0][1].data
            packet = read(data, self.target.version)
            self.guard.before_connack(packet, packet.name, data)

    def _name(self, packet: Any) -> str:
        """Return the name of a packet, with its code where it is a DISCONNECT."""
        if not isinstance(packet, Disconnect):
            return str(packet.name)
        return f"DISCONNECT ({reason_text(packet, self.target.version)})"

    def read_flows(self, tap: Tap) -> bool:
        """Hand the packets of the publish flows to the sender and the receiver.

        Before them comes CONNACK. Return whether it is among them, or a message got on.
        """
        progress = False
        if self.connack is None:
            self._read_others(tap)
            progress = self.connack is not None
        inbox = tap.inbox
        checks_explanations = not self.guard.wants_explanations
        while inbox:
            time_s, item = inbox[0]
            if isinstance(item, FrameRun):
                # An interrupt within would lose thousands of acknowledgements.
                with SHIELD:
                    inbox.popleft()
                    progress |= self._acknowledge_many(item, time_s)
                continue
            inbox.popleft()
            data = item[0]
            if checks_explanations:
                self.guard.check_explanation(read(data, self.target.version), data)
            if data[0] >> 4 in ACKS:
                progress |= self._acknowledge(data, time_s)
            else:
                self._receive(data, time_s)
        return progress

    def _acknowledge(self, data: bytes, time_s: float) -> bool:
        """Hand an acknowledgement to the sender; return whether a message got on."""
        version, sender = self.target.version, self.sender
        if sender is None:
            raise PeerFault(f"the broker sent {read(data, version).name}, though nothing was published", data)
        try:
            return sender.acknowledge(*acknowledgement(data, version, time_s))
        except OutOfOrder as error:
            raise PeerFault(f"the broker sent {error}", data) from None

    def _acknowledge_many(self, run: FrameRun, time_s: float) -> bool:
        """Hand acknowledgements to the sender, together as far as they are usual; return whether a message got on."""
        first, packet_ids, reasons, taken = run.data[0], run.packet_ids(), run.reasons, 0
        is_regular = reasons is None or (self.target.version == Version.V5 and LEGAL[first].issuperset(reasons))
        if self.sender and is_regular and 0 not in packet_ids:
            taken = self.sender.acknowledge_many(first >> 4, packet_ids, reasons, time_s)
        progress = taken > 0
        for packet in islice(run.frames, taken, None) if taken < len(packet_ids) else ():
            progress |= self._acknowledge(packet.data, time_s)
        return progress

    def _receive(self, data: bytes, time_s: float) -> None:
        """Hand a PUBLISH or a PUBREL to the receiver; after DISCONNECT, nothing is kept that cannot be acknowledged."""
        receiver, time_ns = self.receiver, int(time_s * 1e9)
        if found := self._heads.find(data):
            if self.closing:
                return
            if receiver and receiver.queues:
                (topic, properties), packet_id, payload = found
                receiver.publish(
                    ReceivedMessage(
                        topic, payload, data[0] >> 1 & 3, bool(data[0] & 1), bool(data[0] & 8), packet_id, properties,
                        time_ns,
                    )
                )  # fmt: skip
                if packet_id is not None:
                    self._check_receive_maximum(receiver, data)
                return
        packet = read(data, self.target.version)
        topic = ""
        if isinstance(packet, Publish):
            self._heads.learn(packet, data)
            if packet.properties:
                topic = self.guard.topic_alias(packet, data)
        if not self.closing:
            receiver = self.receiver = receiver or Receiver(self.target.version)
            receiver.receive(packet, data, time_ns, topic)
            self._check_receive_maximum(receiver, data)

    def _check_receive_maximum(self, receiver: Receiver, data: bytes) -> None:
        if excess := self.guard.receive_maximum(receiver.unanswered, data):
            receiver.exceed(excess)

    def _take_connack(self, packet: Any, data: bytes, tap: Tap) -> None:
        if self.connack is not None:
            raise PeerFault("the broker sent a second CONNACK (MQTT5-3.2.0-2)", data)
        if packet.reason_code:
            raise refusal(packet, self.target.version)
        self.guard.check_connack(packet, data)
        if self._exchange:
            try:
                self._exchange.finish(value_of(packet.properties, AUTHENTICATION_DATA))
            except NotAuthentic as error:
                raise NotConnected(f"{self.target.place} {UNPROVED}: {error}") from None
        self.connack = packet
        if self.receiver:
            self.receiver.connected(packet.session_present)

    def _take_auth(self, packet: Any, data: bytes, tap: Tap) -> None:
        exchange = self._exchange
        self.guard.check_auth(packet, data)
        if self.connack is not None and not (exchange and exchange.running):
            raise PeerFault("the broker sent an AUTH that the client did not ask for", data)
        if exchange is None:
            raise NotConnected(
                "the broker asks for another authentication step (AUTH), which needs one of the methods "
                f"{', '.join(METHODS)}, a User Name and a password"
            )
        given = value_of(packet.properties, AUTHENTICATION_DATA)
        try:
            if packet.reason_code != CONTINUE:
                self._finish(exchange, given)
                return
            proof = exchange.answer(given)
        except NotAuthentic as error:
            raise PeerFault(f"the broker sent an AUTH that cannot be used: {error}", data) from None
        tap.write(encode(auth(CONTINUE, exchange.method, proof), self.target.version))

    def _finish(self, exchange: ScramExchange, signature: bytes | None) -> None:
        """End a re-authentication, which no CONNACK ends."""
        if self.connack is None:
            raise NotAuthentic("its Reason Code is Success before CONNACK")
        exchange.finish(signature)

    def _take_pingresp(self, packet: Any, data: bytes, tap: Tap) -> None:
        self.pinged = True

    def _take_answer(self, packet: Any, data: bytes, tap: Tap) -> None:
        if packet.packet_id == self._asked:
            self._answer = packet, data

    def _take_disconnect(self, packet: Any, data: bytes, tap: Tap) -> None:
        code = packet.reason_code or 0
        refused = Refused(f"the broker disconnected: {reason_text(packet, self.target.version)}", code)
        if not (self.settled and code in OWN_REASONS):
            raise refused
        # It matters only where more is to be sent.
        self.farewell = refused
        tap.give_up()


_OTHERS: dict[type[Packet], Any] = {
    Auth: Incoming._take_auth,
    Connack: Incoming._take_connack,
    Pingresp: Incoming._take_pingresp,
    Suback: Incoming._take_answer,
    Unsuback: Incoming._take_answer,
    Disconnect: Incoming._take_disconnect,
}


def auth(code: int, method: str, data: bytes) -> Auth:
    """Return the AUTH of one step (5.0: 3.15)."""
    return Auth(
        reason_code=code,
        properties=(Property(AUTHENTICATION_METHOD.id, method), Property(AUTHENTICATION_DATA.id, data)),
    )


# reading one packet


def acknowledgement(data: bytes, version: Version, time_s: float) -> tuple[int, int, int | None, float, str]:
    """Return packet type, Packet Identifier, Reason Code, time and Reason String of an acknowledgement.

    Raises PeerFault for one that breaks a rule. `time_s` is returned as it is given.
    """
    # Nearly all acknowledgements of bulk publishing have no properties; these are read without decoding
    # (tests/benchmarks/publish.py).
    size, legal = len(data), LEGAL.get(data[0])
    if legal and 3 < size < 6 and data[1] == size - 2 and (packet_id := data[2] << 8 | data[3]):
        if size == 4:
            return data[0] >> 4, packet_id, None, time_s, ""
        if version == Version.V5 and data[4] in legal:
            return data[0] >> 4, packet_id, data[4], time_s, ""
    packet: Any = read(data, version)
    text = value_of(packet.properties, REASON_STRING, "")
    return data[0] >> 4, packet.packet_id, packet.reason_code, time_s, text


def read(data: bytes, version: Version) -> Packet:
    """Return a packet from the server; raises PeerFault for one that breaks a rule."""
    try:
        begin = 2 if data[1] < 0x80 else multi_byte(data, 1)[1]
        packet = reader(data[0] >> 4, version)(data, data[0], begin, len(data))
    except (Irregular, IndexError):
        return _judged(data, version)
    return packet if is_clean(packet, version, Direction.SERVER) else _judged(data, version)


def _judged(data: bytes, version: Version) -> Packet:
    from ..codec.decode import decode
    from ..lint.packet.check import lint

    decoded = decode(data, version, direction=Direction.SERVER)
    for finding in lint(decoded, Direction.SERVER):
        if finding.severity == "error" and finding.statement not in FAULTS_OF_PUBLISHERS:
            cited = f" ({finding.statement})" if finding.statement else ""
            where = f"{decoded.name} with an error at offset {finding.span.start}"
            said = f"the broker sent {where}: {finding.message}{cited}"
            raise PeerFault(said, data, finding.reason or MALFORMED)
    if decoded.packet is None:
        raise PeerFault(f"the broker sent a {decoded.name} that cannot be read", data, MALFORMED)
    return decoded.packet


def refusal(connack: Any, asked: Version) -> ConnectionRefused:
    """Return the failure for a CONNACK that refuses, where the CONNECT asked for a version."""
    code = connack.reason_code
    text = reason_text(connack, min(asked, Version.V311) if code in RETURN_CODES else asked)
    hint = f"; try another --mqtt-version than {asked.label}" if code in OTHER_VERSION else ""
    return ConnectionRefused(f"the broker refused the connection: {text}{hint}", code)


def reason_text(packet: Any, version: Version) -> str:
    """Return the code of a packet in words, with the Server Reference and the Reason String if it has them."""
    name = packet.fields["reason_code"].meaning(packet.reason_code or 0, version)
    if version < Version.V5:
        return f"{packet.reason_code} {name}"
    text = f"0x{packet.reason_code or 0:02x} {name}"
    given = dict(packet.properties or ())
    if reference := given.get(SERVER_REFERENCE.id):
        text += f", Server Reference '{reference}'"
    return f"{text}: {given[REASON_STRING.id]}" if given.get(REASON_STRING.id) else text
