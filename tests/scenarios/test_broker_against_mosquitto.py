"""The embedded broker against a real mosquitto: the same bytes, the same packets and Reason Codes."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.lab.broker.server import Broker
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import (
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from mqttpub.spec.versions import Direction, Version
from tests.build import brokers
from tests.lab.broker.test_connect import PROTOCOLS
from tests.lab.broker.test_connect import REFUSED as NOT_LET_IN
from tests.lab.broker.test_connection import OLD, REFUSED
from tests.lab.peer import V5, V31, V311, props
from tests.lab.sockets import Wire

pytestmark = [pytest.mark.broker, pytest.mark.slow]

Step = Packet | bytes | tuple[Packet, ...]
"""What is sent at once."""
Script = tuple[str, Version, Sequence[Step]]
NUMBERS = itertools.count()
WAIT = 1.0
"""Seconds after which a broker that says nothing is taken to wait for more."""


def script(name: str, *steps: Step, version: Version = V5, **connect: Any) -> Script:
    """Return a script that begins with a CONNECT."""
    return name, version, [Connect(client_id="c", **connect), *steps]


def wish(*filters: str, id: int = 1, properties: Any = (), **options: Any) -> Subscribe:
    """Return a SUBSCRIBE."""
    wanted = tuple(Subscription(filter=each, **options) for each in filters)
    return Subscribe(packet_id=id, properties=properties, subscriptions=wanted)


def message(qos: int = 0, topic: str = "t/c", **fields: Any) -> Publish:
    """Return a PUBLISH."""
    return Publish(topic=topic, payload=fields.pop("payload", b"x"), qos=qos, packet_id=(qos and 5) or None, **fields)


def finished(qos: int) -> tuple[Packet, ...]:
    """Return a PUBLISH with what completes it; brokers may deliver at either."""
    return (message(qos), Pubrel(packet_id=5)) if qos == 2 else (message(qos),)


IDENTIFIER = props(subscription_identifier=7)


def conversations(version: Version) -> Iterator[Script]:
    """Yield scripts in which nothing is wrong."""
    for qos, granted in itertools.product((0, 1, 2), repeat=2):
        yield script(f"publish {qos} to {granted}", wish("t/+", qos=granted), finished(qos), version=version)
    yield script("nobody subscribes", message(1), finished(2), version=version)
    yield script("QoS 2 twice", message(2), message(2, dup=True), Pubrel(packet_id=5), version=version)
    yield script("retained", message(1, retain=True), wish("t/c"), wish("t/#"), version=version)
    yield script("retained and gone", message(1, retain=True), message(retain=True, payload=b""), wish("t/c"),
                 version=version)  # fmt: skip
    yield script("unsubscribe", wish("t/c"), Unsubscribe(packet_id=2, filters=("t/c", "t/d")), message(),
                 version=version)  # fmt: skip
    yield script("filters one by one", wish("t/c", "t/#", "+/d", "$share/g/x", "/", qos=1), version=version)
    yield script("unknown PUBREL", Pubrel(packet_id=9), version=version)
    yield script("unknown PUBREC", Pubrec(packet_id=9), version=version)
    yield script("unknown PUBACK and PUBCOMP", Puback(packet_id=9), Pubcomp(packet_id=9), version=version)
    yield script("$ topics", wish("#", "+/c"), message(topic="$t/c"), wish("$t/#"), message(topic="$t/c"),
                 version=version)  # fmt: skip
    yield script("disconnect", Disconnect(), version=version)
    yield script("a will", version=version, will=Will(topic="t/w", payload=b"gone"), will_qos=1)
    yield script("silent PUBACK", message(1), message(1), Pingreq(), version=version)
    yield script("a topic of the broker's own", message(1, topic="$SYS/c"), version=version)
    yield script("second CONNECT", Connect(client_id="c"), version=version)


def of_5() -> Iterator[Script]:
    """Yield scripts that only MQTT 5.0 has."""
    yield script("aliases", wish("t/#"), message(properties=props(topic_alias=3)),
                 message(topic="", properties=props(topic_alias=3)))  # fmt: skip
    yield script("No Local", wish("t/c", no_local=True), message(1))
    for keep in (False, True):
        yield script(f"Retain As Published {keep}", wish("t/c", retain_as_published=keep), message(retain=True))
    for handling in (0, 1, 2):
        yield script(f"Retain Handling {handling}", message(retain=True), wish("t/c", retain_handling=handling),
                     wish("t/c", retain_handling=handling))  # fmt: skip
    yield script("Subscription Identifier", wish("t/c", properties=IDENTIFIER), message())
    yield script("overlapping", wish("t/c", qos=1), wish("t/#", qos=2, properties=IDENTIFIER), finished(2))
    yield script("user properties", wish("t/c"), message(properties=props(user_property=[("b", "1"), ("a", "2")])))
    yield script("expiry", wish("t/c"), message(properties=props(content_type="x", message_expiry_interval=60)))
    yield script("Receive Maximum", wish("t/c", qos=1), *[message(1)] * 3, properties=props(receive_maximum=1))
    yield script("Maximum Packet Size", wish("t/c", qos=1), message(1, payload=bytes(100)), message(1),
                 properties=props(maximum_packet_size=60))  # fmt: skip
    yield script("assigned id", version=V5)
    yield script("disconnect with will", Disconnect(reason_code=4), will=Will(topic="t/w"))
    yield script("expiry after none", Disconnect(reason_code=0, properties=props(session_expiry_interval=5)))
    yield script("PUBREC that refuses", wish("t/c", qos=2), finished(2), Pubrec(packet_id=1, reason_code=0x97))
    yield script("QoS 1 and 2 with one id", message(2), message(1))
    yield script("share without No Local", wish("$share/g/t/c"), message())


SCRIPTS: list[Script] = [
    *((f"{name}, {version.label}", version, steps) for version in (V5, V311, V31)
      for name, version, steps in conversations(version)),
    *of_5(),
    *((f"refused: {name}", V5, [Connect(client_id="c"), sent]) for name, sent, _ in REFUSED),
    *((f"refused in 3.1.1: {name}", V311, [Connect(client_id="c"), sent]) for name, sent, _ in OLD),
    *((f"not let in: {name}", V5, [sent]) for name, sent, _, _ in NOT_LET_IN),
    *((f"not let in by 3.1.1: {name}", V311, [sent]) for name, sent, _, code in NOT_LET_IN if code != -1),
    *((f"protocol {name!r} {level:#x}", version, [Connect(protocol_name=name, protocol_level=level, client_id="c")])
      for name, level, version, _ in PROTOCOLS),
]  # fmt: skip


def transcript(port: int, version: Version, steps: Iterable[Step]) -> list[str]:
    """Return what a broker says to each step, in the order of the alphabet, and whether it closes."""
    clean(port)
    said: list[str] = []
    with Wire(port, version) as wire:
        wire.sock.settimeout(WAIT)
        for step in steps:
            heard, end = listen(wire, written(step, version), version)
            said += sorted(heard)
            if end:
                return [*said, end]
    return said


def clean(port: int) -> None:
    """Remove the retained messages of earlier scripts."""
    with Wire(port) as wire:
        wire.connect("cleaner").send(*(Publish(topic=each, retain=True) for each in ("t/c", "t/w", "$t/c"))).ask(
            Pingreq()
        )


def written(step: Step, version: Version) -> bytes:
    """Return the bytes of a step; its client is nobody else."""
    if isinstance(step, tuple):
        return b"".join(written(each, version) for each in step)
    if isinstance(step, bytes):
        return step
    own = isinstance(step, Connect) and step.client_id == "c"
    return encode(step.replace(client_id=f"c{next(NUMBERS)}") if own else step, version)


def listen(wire: Wire, data: bytes, version: Version) -> tuple[list[str], str]:
    """Return what comes back up to the answer to a PINGREQ, and how it ended if that did not come."""
    heard: list[str] = []
    try:
        wire.send(data, Pingreq())
        while True:
            came = wire.receive()
            if not came:
                return heard, "closed"
            for frame in wire.stream.feed(came):
                packet = decode(frame.data, version, direction=Direction.SERVER).packet
                if isinstance(packet, Pingresp):
                    return heard, ""
                heard.append(told(packet))
    except ConnectionError:
        return heard, "closed"
    except TimeoutError:
        return heard, "silent"


def told(packet: Any) -> str:
    """Return a packet with what the specification determines of it."""
    if packet is None:
        return "unreadable"
    name = type(packet).__name__
    if isinstance(packet, Publish):
        names = ",".join(f"{each.id:#x}={each.value!r}" for each in packet.properties)
        return f"{name} {packet.topic} {packet.payload!r} qos {packet.qos} retain {packet.retain:d} {names}".rstrip()
    codes = getattr(packet, "reason_codes", None) or (getattr(packet, "reason_code", None) or 0,)
    return f"{name} {' '.join(f'{code:#04x}' for code in codes)}"


C0, COPY = "Connack 0x00", "Publish t/c b'x' qos"
DIFFERENCES: dict[str, list[tuple[str, str]]] = {
    "PUBREC may say that nobody subscribes; mosquitto says so in PUBACK only": [
        ("nobody subscribes, 5.0", f"{C0}, Puback 0x10, Pubcomp 0x00, Pubrec 0x00"),
        ("QoS 2 twice, 5.0", f"{C0}, Pubrec 0x00, Pubrec 0x00, Pubcomp 0x00"),
    ],
    "a client that does not want its own messages is no subscriber of them here": [
        ("No Local", f"{C0}, Suback 0x00, Puback 0x00"),
    ],
    "one copy for overlapping subscriptions here, several there (3.3.4 allows both)": [
        (
            "overlapping",
            f"{C0}, Suback 0x01, Suback 0x02, Pubcomp 0x00, {COPY} 1 retain 0, {COPY} 2 retain 0 0xb=7, Pubrec 0x00",
        ),
    ],
    "a Packet Identifier in use, or not in use, is told here (0x91, 0x92)": [
        ("unknown PUBREL, 5.0", f"{C0}, Pubcomp 0x00"),
        ("unknown PUBREC, 5.0", f"{C0}, Pubrel 0x00"),
        ("QoS 1 and 2 with one id", f"{C0}, Pubrec 0x00, Puback 0x10"),
    ],
    "0x90 is for the topic, 0x87 for the client; here no client may": [
        ("a topic of the broker's own, 5.0", f"{C0}, Puback 0x87"),
    ],
    "mosquitto looks at the topic of a will when it is due": [
        ("not let in: will to the broker's own topics", C0),
        ("not let in by 3.1.1: will to the broker's own topics", C0),
    ],
    "mosquitto closes without a word; 5.0 says that a server should send DISCONNECT, and may send CONNACK": [
        ("second CONNECT, 5.0", f"{C0}, closed"),
        *(
            (f"refused: {name}", f"{C0}, closed")
            for name in (
                "Remaining Length of five bytes", "PUBREL without its header bits", "PUBACK cut short",
                "content type twice", "AUTH", "AUTH without a method", "CONNACK from a client",
                "a reason that only servers give",
            )
        ),
        *(
            (f"not let in: {name}", "closed")
            for name in (
                "will with a wildcard", "will of QoS 3", "will QoS without a will", "reserved flag",
                "reserved header bits", "Receive Maximum 0", "a property twice", "a property of CONNACK",
                "client id that is not UTF-8", "client id with a NUL", "a name with nothing behind its flag",
                "bytes left over",
            )
        ),
        ("protocol 'MQXX' 0x5", "closed"),
    ],
    "mosquitto lets pass what a MUST forbids": [
        *(
            (f"refused: {name}", C0)
            for name in (
                "Remaining Length longer than need be", "bytes behind PINGREQ", "PINGREQ with header bits",
                "DUP at QoS 0", "Subscription Identifier from a client", "response topic with a wildcard",
                "Payload Format Indicator 2", "SUBACK from a client", "PINGRESP from a client",
                "a reason that PUBACK cannot have",
            )
        ),
        *(
            (f"refused in 3.1.1: {name}", C0)
            for name in (
                "bytes behind PINGREQ", "PINGREQ with header bits", "DUP at QoS 0", "SUBACK from a client",
                "PINGRESP from a client",
            )
        ),
        *(
            (f"refused: {name}", f"{C0}, Suback 0x00")
            for name in (
                "share without a name", "share without a filter", "No Local on a shared subscription",
            )
        ),
        ("not let in: data without a method", C0),
    ],
    "mosquitto says Malformed Packet where 5.0 says Protocol Error": [
        (f"refused: {name}", f"{C0}, Disconnect 0x81, closed")
        for name in (
            "SUBSCRIBE without filters", "requested QoS 3", "Retain Handling 3", "Subscription Identifier 0",
            "UNSUBSCRIBE without filters",
        )
    ],
    "mosquitto says Malformed Packet where 5.0 says Topic Alias invalid (3.3.2-8)": [
        ("refused: Topic Alias 0", f"{C0}, Disconnect 0x81, closed"),
    ],
    "5.0 names no code; here the one that fits the field": [
        *(
            (f"refused: {name}", f"{C0}, Disconnect 0x81, closed")
            for name in (
                "SUBSCRIBE with Packet Identifier 0", "empty filter", "filter with a # inside",
                "filter with a + in a level", "share with a wildcard in its name",
            )
        ),
        ("refused: topic with a wildcard", f"{C0}, Disconnect 0x82, closed"),
        ("refused: type 0", f"{C0}, Disconnect 0x82, closed"),
    ],
    "mosquitto has no limit to the size of a packet unless it is told one": [
        ("refused: too large", f"{C0}, silent"),
        ("refused in 3.1.1: too large", f"{C0}, silent"),
    ],
    "mosquitto answers another version in the form of 3.1.1; it is told 0x84 here": [
        ("protocol 'MQTT' 0x6", "unreadable, closed"),
        ("protocol 'MQIsdp' 0x5", "unreadable, closed"),
    ],
    "a private mark of mosquitto's bridges": [
        ("protocol 'MQTT' 0x84", C0),
        ("protocol 'MQIsdp' 0x83", C0),
    ],
}  # fmt: skip
"""What mosquitto 2.0.11 does otherwise, by the reason why."""

OTHERWISE = {name: theirs.split(", ") for rows in DIFFERENCES.values() for name, theirs in rows}


@pytest.fixture(scope="module")
def embedded() -> Iterator[int]:
    """The port of an embedded broker."""
    with Broker() as broker:
        yield broker.port


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a mosquitto that no other test has left messages on."""
    with brokers.mosquitto(tmp_path_factory.mktemp("mosquitto"), brokers.plain) as (port,):
        yield port


@pytest.mark.parametrize(("name", "version", "steps"), SCRIPTS, ids=[name for name, _, _ in SCRIPTS])
def test_it_answers_like_mosquitto(embedded: int, mosquitto: int, name: str, version: Version, steps: Any) -> None:
    ours, theirs = (transcript(port, version, steps) for port in (embedded, mosquitto))
    assert theirs == OTHERWISE.get(name, ours)
    assert (ours != theirs) is (name in OTHERWISE)


def test_every_difference_is_of_a_script() -> None:
    names = [name for name, _, _ in SCRIPTS]
    assert len(set(names)) == len(names)
    assert set(OTHERWISE) <= set(names)
