"""`mqttpub walkthrough`: the three publish handshakes, run and explained."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...common.standard_input import is_interactive
from ...spec.declare import Property
from ...spec.packets import Connect, Publish, Subscribe, Subscription
from ...spec.properties import MESSAGE_EXPIRY_INTERVAL, RESPONSE_TOPIC
from ...spec.reason_codes import Codes
from ...spec.versions import Direction, Version
from ..flags.base import Command

if TYPE_CHECKING:
    from ...codec.stream import Frame
    from ...live.net.target import Target

TOPIC = "request"
PROPERTIES = (
    Property(MESSAGE_EXPIRY_INTERVAL.id, 300),
    Property(RESPONSE_TOPIC.id, "response"),
)
FLOW_CODES = range(3, 8)


class WalkthroughStep(NamedTuple):
    """One exchange: what is sent, whether somebody subscribes, and what to look at."""

    title: str
    qos: int
    packet_id: int | None
    subscribed: bool
    before: str
    after: str


STEPS = (
    WalkthroughStep(
        "QoS 0: at most once", 0, None, False,
        "The simplest message: the client sends one PUBLISH and that is all. Its properties say that it expires "
        "after 300 seconds and where an answer should go.",
        "The first byte is 0x30. Its upper four bits, 0011, are the packet type 3: PUBLISH. The lower four are DUP, "
        "QoS (two bits) and RETAIN, all 0 here. Then comes the Remaining Length: how many bytes follow. No answer "
        "comes, so the sender cannot know whether the message arrived.",
    ),
    WalkthroughStep(
        "QoS 1: at least once, and nobody listens", 1, 0x644A, False,
        "The same message with QoS 1. Now a Packet Identifier follows the Topic Name, so that the answer can "
        "say which message it is for.",
        "The first byte is now 0x32: QoS is 01. The broker answers with PUBACK, which repeats the Packet Identifier "
        "and carries a Reason Code. 0x10 says: accepted, but nobody subscribes to this topic.",
    ),
    WalkthroughStep(
        "QoS 1 again, and somebody listens", 1, 0x644B, True,
        "Before this one, another client subscribed to the topic.",
        "Now the Reason Code is 0x00, Success. It may be left out together with the properties: a PUBACK of two "
        "bytes after the header means the same.",
    ),
    WalkthroughStep(
        "QoS 2: exactly once", 2, 0x11C2, False,
        "With QoS 2 there are two round trips. Four packets carry the same Packet Identifier.",
        "PUBLISH begins with 0x34: QoS is 10. PUBREC says: I have it. PUBREL says: then I will never send it again; "
        "its lower four bits are always 0010. PUBCOMP says: done, the Packet Identifier is free for a new message.",
    ),
)  # fmt: skip


@click.command(
    name="walkthrough", cls=Command, examples=("mqttpub walkthrough", "mqttpub walkthrough --no-pause | less -R")
)
@click.option("--pause/--no-pause", default=None, help="Wait for Enter between the steps. [default: on a terminal]")
def command(pause: bool | None) -> int:
    """Watch the three QoS handshakes, byte by byte, on a local broker.

    Publishes the same message with QoS 0, 1 and 2, shows every byte of PUBLISH, PUBACK, PUBREC,
    PUBREL and PUBCOMP, and then answers: is this a PUBLISH, what is its QoS, and what did
    the broker say?
    """
    return Walkthrough(pause=is_interactive() and sys.stdout.isatty() if pause is None else pause).run()


class Walkthrough:
    """Runs the steps on the built-in broker and explains what is seen."""

    def __init__(self, *, pause: bool) -> None:
        from ...view.packet.show import Show

        self.show = Show()
        self.pause = pause
        self.seen: list[list[Frame]] = []

    def run(self) -> int:
        """Show all of it and return the exit status."""
        from ...lab.broker.server import Broker
        from ...live.net.target import Target

        with ExitStack() as stack:
            broker = stack.enter_context(Broker())
            target = Target("127.0.0.1", broker.port, connect=Connect(client_id="walkthrough"))
            self.heading("PUBLISH and its answers, byte by byte")
            self.text(
                "PUBLISH carries a message. How sure its sender can be that it arrived depends on the QoS, and so do "
                "the packets that follow. Each exchange below runs for real, between this program and a small broker "
                "that it has just started on 127.0.0.1; > is what the client sends, < what the broker answers."
            )
            for number, step in enumerate(STEPS, 1):
                self.step(number, step, target)
            self.questions()
        return 0

    def step(self, number: int, step: WalkthroughStep, target: "Target") -> None:
        """Run one exchange and explain it."""
        from ...codec.decode import decode

        self.wait()
        self.heading(f"{number}. {step.title}")
        self.text(step.before)
        self.show.block([("    ", ""), (line, "label")] for line in command_line(step))
        frames = list(exchange(step, target))
        self.seen.append(frames)
        for frame in frames:
            direction = frame.direction or Direction.CLIENT
            self.show.packet(decode(frame.data, Version.V5, direction=direction))
        self.text(step.after)

    def questions(self) -> None:
        """Show for each packet what its bytes say."""
        self.wait()
        self.heading("So, given only the bytes")
        for frames in self.seen:
            for frame in frames:
                self.show.block([[(frame.data[:6].hex(" ") + (" ..." if len(frame.data) > 6 else ""), "label")]])
                self.show.lines([[("    ", ""), (answer, "")] for answer in answers(frame.data)])
        self.text(
            "To read your own bytes, give them to `mqttpub decode`; to see an exchange with your own broker, "
            "add --inspect to `mqttpub pub`."
        )

    def heading(self, text: str) -> None:
        """Show a title."""
        self.show.block([[(text, "heading")], [("=" * len(text), "heading")]])

    def text(self, text: str) -> None:
        """Show a paragraph, broken to the screen."""
        import textwrap

        self.show.block([(line, "")] for line in textwrap.wrap(text, min(self.show.width, 80)))

    def wait(self) -> None:
        """Wait for Enter, where there are pauses."""
        if self.pause:
            input("Press Enter to continue ")


def command_line(step: WalkthroughStep) -> list[str]:
    """Return the lines of the command that does the same with a broker on this machine."""
    id = "" if step.packet_id is None else f" --packet-id 0x{step.packet_id:04x}"
    return [
        f"mqttpub pub --topic {TOPIC} --qos {step.qos}{id} --message '{message(step)}' \\",
        "  --message-expiry-interval 300 --response-topic response --inspect",
    ]


def message(step: WalkthroughStep) -> str:
    """Return the payload of a step."""
    return f"This is a QoS {step.qos} message"


def exchange(step: WalkthroughStep, target: "Target") -> "Iterator[Frame]":
    """Publish the message of a step and yield the packets of its handshake."""
    from ...live.publish.publisher import publish_all
    from ...live.publish.sender import Publication
    from ...live.session import Session

    frames: list[Frame] = []
    with ExitStack() as stack:
        if step.subscribed:
            listener = stack.enter_context(Session(target.changed(client_id="listener")))
            listener.open()
            listener.subscribe(Subscribe(packet_id=1, subscriptions=(Subscription(filter=TOPIC, qos=1),)))
        packet = Publish(
            topic=TOPIC, qos=step.qos, packet_id=step.packet_id, properties=PROPERTIES, payload=message(step).encode()
        )
        publish_all(target, [Publication.of(packet, target.version)], observer=lambda _, frame: frames.append(frame))
    return (frame for frame in frames if frame.data[0] >> 4 in FLOW_CODES)


def answers(data: bytes) -> Iterator[str]:
    """Yield sentences about a packet that its bytes alone show."""
    from ...codec.decode import decode

    packet: Any = decode(data, Version.V5).packet
    name = packet.name
    yield f"0x{data[0]:02x}: the upper four bits are {data[0] >> 4}, so this is a {name}"
    if name == "PUBLISH":
        yield f"bits 2 and 1 are {data[0] >> 1 & 3:02b}, so its QoS is {packet.qos}"
    if packet.packet_id is not None:
        yield f"Packet Identifier 0x{packet.packet_id:04x}: it belongs to that message"
    if name != "PUBLISH":
        code = packet.reason_code or 0
        how = f"0x{code:02x}" if packet.reason_code is not None else "left out, which means 0x00"
        yield f"Reason Code {how}: {Codes(name).name(code, Version.V5)}"
