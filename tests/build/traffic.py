"""What scripts send on real sockets while a capture is recorded: what no client does on purpose."""

import shlex
import socket
import subprocess
import sys
from collections import Counter
from typing import Any, NamedTuple, Self

from mqttpub.codec.encode import encode
from mqttpub.script.packets import StepContext, packet_bytes
from mqttpub.script.reader import read_script
from mqttpub.script.steps import PacketStep
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import (
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
)
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer
from tests.lab.peer import EACH, V5, props
from tests.lab.sockets import Wire


class Venue(NamedTuple):
    """The ports of a broker, and one for scripted peers."""

    tcp: int
    ws: int
    scripted: int


class Script(Wire):
    """A client that waits for what it expects."""

    def __enter__(self) -> Self:
        return self

    def expect(self, *types: type[Packet]) -> list[Any]:
        """Read until so many packets of these types have come, and return all that came."""
        wanted, came = Counter(types), list[Any]()
        while wanted - Counter(map(type, came)):
            packet = self.next()
            assert packet is not None, f"closed, but {wanted - Counter(map(type, came))} is awaited"
            came.append(packet)
        return came

    def trickle(self, *packets: Packet) -> None:
        """Send bytes one at a time."""
        for packet in packets:
            for byte in encode(packet, self.version):
                self.sock.sendall(bytes((byte,)))


def sockets(venue: Venue) -> None:
    """Bytes one at a time, many packets in a segment, a session that is resumed, a client that is sent away."""
    for version in EACH:
        _trickled(venue.tcp, version)
        _together(venue.tcp, version)
        _resumed(venue.tcp, version)
    _trickled_length(venue.tcp)
    _taken_over(venue.tcp)


def _trickled(port: int, version: Version) -> None:
    with Script(port, version) as wire:
        wire.trickle(Connect(client_id=f"slow-{int(version)}"))
        wire.expect(Connack)
        wire.trickle(Subscribe(packet_id=1, subscriptions=(Subscription(filter="s/#", qos=2),)))
        wire.expect(Suback)
        wire.trickle(Publish(topic="s/x", qos=1, packet_id=2, payload=b"slow"), Pingreq())
        answers = wire.expect(Puback, Publish, Pingresp)
        heard = next(each for each in answers if isinstance(each, Publish))
        wire.trickle(Puback(packet_id=heard.packet_id or 0), Disconnect())


def _trickled_length(port: int) -> None:
    """Send a Remaining Length of two bytes one at a time, and then what must be read in sync."""
    with Script(port) as wire:
        wire.connect("slower")
        wire.trickle(Publish(topic="s/y", qos=1, packet_id=2, payload=b"l" * 140), Pingreq())
        wire.expect(Puback, Pingresp)


def _together(port: int, version: Version) -> None:
    """Send all that a client may send without waiting in one segment."""
    numbers = range(30)
    messages = [
        Publish(topic="t/x", qos=n % 3, packet_id=n + 9 if n % 3 else None, payload=b"m" * n) for n in numbers
    ]  # fmt: skip
    filters = (Subscription(filter="t/none", qos=1), Subscription(filter="u/+", qos=2))
    with Script(port, version) as wire:
        wire.connect(f"quick-{int(version)}")
        wire.send(Subscribe(packet_id=1, subscriptions=filters), *messages)
        wire.send(Unsubscribe(packet_id=2, filters=("t/none", "u/+")), Pingreq())
        wire.expect(*[Puback] * 10, *[Pubrec] * 10, Suback, Unsuback, Pingresp)
        wire.send(*(Pubrel(packet_id=each.packet_id or 0) for each in messages if each.qos == 2))
        wire.expect(*[Pubcomp] * 10)
        wire.send(Disconnect())


def _resumed(port: int, version: Version) -> None:
    """Leave messages unacknowledged, and get them again with DUP in the next connection."""
    kept = {"properties": props(session_expiry_interval=60)} if version == V5 else {}
    name, topic = f"back-{int(version)}", f"r/{int(version)}"
    own = [Publish(topic=topic, qos=qos, packet_id=qos + 10, payload=b"again") for qos in (1, 2)]
    with Script(port, version) as wire:
        wire.connect(name, clean_start=False, **kept)
        wire.ask(Subscribe(packet_id=1, subscriptions=(Subscription(filter=topic, qos=2),)))
        wire.send(*own)
        wire.expect(Puback, Pubrec, Publish)
    with Script(port, version) as wire:
        wire.connect(name, clean_start=False, **kept)
        wire.send(own[1].replace(dup=True))
        wire.expect(Pubrec)
        wire.send(Pubrel(packet_id=12))
        came = wire.expect(Pubcomp, Publish)
        for message in (each for each in came if isinstance(each, Publish)):
            answer = Puback if message.qos == 1 else Pubrec
            wire.send(answer(packet_id=message.packet_id or 0))
        wire.send(Pingreq())
        wire.expect(Pingresp)


def _taken_over(port: int) -> None:
    """Connect twice with one Client Identifier, so that the first client is sent away."""
    with Script(port) as first, Script(port) as second:
        first.connect("twice")
        second.connect("twice")
        first.rest()


# both ends scripted

AUTH = "authentication_method=SCRAM authentication_data=hex:00ff736563726574"
WORDS = "reason_string=why user_property=a:b user_property=a:c"
WILL = (
    "payload_format_indicator=1", "message_expiry_interval=60", "response_topic=r", "correlation_data=hex:00ff",
    f"user_property=a:{'b' * 100}", "user_property=a:c", "content_type=text/plain",
)  # fmt: skip
"""All properties that PUBLISH and a will have."""
BOTH = "topic_alias=1 subscription_identifier=1 subscription_identifier=268435455"
EXTENDED = f"""\
> connect id= will_qos=1 will.topic=w will.payload=hex:00676f6e65 username=me password=pw session_expiry_interval=60 \
  receive_maximum=20 maximum_packet_size=2000000 topic_alias_maximum=10 request_response_information=1 \
  request_problem_information=1 user_property=a:b {AUTH} will.{" will.".join(WILL)} will.will_delay_interval=5
< auth c=0x18 {AUTH} {WORDS}
> auth c=0x18 {AUTH}
< connack session_expiry_interval=60 receive_maximum=20 maximum_qos=1 retain_available=1 maximum_packet_size=2000000 \
  assigned_client_identifier=you topic_alias_maximum=10 wildcard_subscription_available=1 \
  subscription_identifier_available=1 shared_subscription_available=1 server_keep_alive=30 \
  response_information=answers/ {AUTH} {WORDS}
> subscribe i=1 subscription_identifier=268435455 user_property=a:b f=a/+:q1:rh2:rap:nl,b/#:q2,$share/g/c
< suback i=1 {WORDS} c=0x01,0x87,0x97
> subscribe i=2 subscription_identifier=1 f=a/#:q2
< suback i=2 c=0x02
> publish t=a/long/topic topic_alias=1 {" ".join(WILL)} p=set
< publish t=a/other {BOTH} p=set
> publish t= topic_alias=1 p=used
< publish t= {BOTH} p=used
> publish q1 i=7 t=a p=one
< puback i=7 c=0x97 {WORDS}
> publish q1 r1 i=7 t=a p=two
< puback i=7 c=0x10
< publish q2 i=7 t=a subscription_identifier=1 p=three
> pubrec i=7 c=0x00 {WORDS}
< pubrel i=7 c=0x00 {WORDS}
> pubcomp i=7 c=0x00 {WORDS}
< publish q2 i=8 t=a subscription_identifier=1 p=four
> pubrec i=8 c=0x99
> auth c=0x19 {AUTH}
< auth c=0x00 {AUTH}
> unsubscribe i=2 user_property=a:b f=a/+,nothing
< unsuback i=2 {WORDS} c=0x00,0x11
< disconnect c=0x9c {WORDS} server_reference=other.example
"""
"""Extended authentication, and all that may stand beside it, in the notation of scripts."""
AGES = """\
> connect id=gone will_qos=2 will_retain=1 will.topic=w will.payload=bye
< connack
> subscribe i=1 f=a:q0,b:q2
< suback i=1 c=0x00,0x02
< publish q2 r1 i=1 t=b p=x
> pubrec i=1
< pubrel i=1
> pubcomp i=1
> disconnect
"""
"""The same in words that every version has."""


def scripted(venue: Venue) -> None:
    """Extended authentication and refusals between two scripts; ours, sending again after a reconnect."""
    play(venue.scripted, V5, EXTENDED)
    for version in EACH:
        play(venue.scripted, version, AGES)
        play(venue.scripted, version, f"> connect id=no\n< connack c={0x87 if version == V5 else 5:#04x}\n")
    _sent_again(venue.scripted)


def play(port: int, version: Version, script: str) -> None:
    """Let a client and a server send packets in turn, each read before the next is sent."""
    context = StepContext(version, {}, {})
    with socket.create_server(("127.0.0.1", port)) as server:
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        with client, accepted:
            ends = {Direction.CLIENT: (client, accepted), Direction.SERVER: (accepted, client)}
            for step in read_script(script.splitlines()):
                assert isinstance(step, PacketStep)
                source, sink = ends[step.direction]
                data = packet_bytes(step, context)
                source.sendall(data)
                _read(sink, len(data))
            # The client closes first, so that its end and not the server's port is left in TIME_WAIT.
            client.shutdown(socket.SHUT_WR)
            assert accepted.recv(1) == b""


def _read(sock: socket.socket, count: int) -> None:
    sock.settimeout(10)
    while count:
        got = len(sock.recv(count))
        assert got, "closed too early"
        count -= got


def _sent_again(port: int) -> None:
    """Let ours publish to a server that closes without an answer, and answer the next time."""
    words = shlex.split("-V 5 -q 2 -t d/x -m again --no-clean -x 60 -i doubter --reconnect 3 --quiet --timeout 20")
    command = [sys.executable, "-m", "mqttpub", "pub", "-h", "127.0.0.1", "-p", str(port), *words]
    with socket.create_server(("127.0.0.1", port)) as server, subprocess.Popen(command) as process:
        server.settimeout(20)
        for connack in ("20 03 00 00 00", "20 03 01 00 00"):
            sock, _ = server.accept()
            with sock:
                peer = Peer(sock)
                peer.accept(connack)
                publish = peer.packet()
                assert publish[0] >> 4 == Publish.code
                if publish[0] & 8:
                    identifier = publish[7:9].hex()
                    peer.send("50 02" + identifier)
                    assert peer.packet()[0] >> 4 == Pubrel.code
                    peer.send("70 02" + identifier)
                    peer.wait()
        assert process.wait(20) == 0
