"""`proxy --intercept`: each packet that is held, with the state of both ends, and what the user says of it."""

import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from ...common.errors import UserError
from ...common.escape import escape
from ...common.system import waitable
from ...lab.proxy.intercept import HeldPacket, InterceptedLink
from ...script.encoder import ScriptEncoder
from ...script.lex import ScriptWord
from ...script.reader import read_line
from ...script.steps import EndStep, PacketStep
from ...script.writer import ConnectionWriter
from ...spec.versions import Direction
from ...view.packet.masking import without_secrets
from ...view.terminal.cells import Line
from ...view.terminal.style import show
from ..step.editing import edited
from ..step.masked import masked
from ..step.screen import chosen, obey, packet_lines, state_lines, without_variables

PROMPT = "proxy> "
MOST_TEXT = 1000
"""Characters of a packet that are shown."""
LONGEST_LINE = 1 << 16
WELCOME = "Packets that match are held. Enter sends one on; help lists what else there is."
HELP = """\
Enter          send the packet on as it is shown
edit WORD      change it: edit q2, edit t=a/b, edit -reason_string leaves a word out
hold           put it aside, and let go on what follows; send N sends it later
drop           forget it
twice, dup     send it twice; send it with DUP
raw HEX        send these bytes before it
STEP           send any packet before it: > publish q1 t=a p=hi to the broker, < pingresp to the client
fin, rst       close the connection, or break it off
quit           end the proxy; so does Ctrl-D"""


class _PromptedPacket(NamedTuple):
    """A packet as the user has it."""

    link: InterceptedLink
    direction: Direction
    data: bytes
    text: str
    """The packet as a step."""
    copies: int = 1

    @classmethod
    def of(cls, link: InterceptedLink, direction: Direction, data: bytes) -> "_PromptedPacket":
        """Return a packet as it came."""
        writer = ConnectionWriter(link.version, itertools.count(1))
        return cls(link, direction, data, without_variables(writer.step(data, direction)))

    @property
    def shown(self) -> str:
        """The same for the terminal, of bounded length and without secrets."""
        text = masked(self.text)
        return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."

    def changed(self, words: ScriptWord) -> "_PromptedPacket":
        """Return the packet with other words; raises BadText, and UserError for what they cannot say here."""
        if self.text[2:].startswith("raw "):
            raise UserError("no words give these bytes: drop them and send others with raw HEX, or send them on")
        text = edited(self.text, words)
        (step,) = read_line(text)
        assert isinstance(step, PacketStep)
        if step.sending.slice_bytes:
            raise UserError("slice is an action of --fault")
        data = ScriptEncoder(self.link.version).bytes_of(step)
        return self._replace(text=text, data=data, copies=step.sending.copies)


class InterceptPrompt:
    """Shows the packets that are held, one after the other, and does what the user says; everything else goes on.

    The loop calls `readable` for standard input, and `flush` to show what there is to show.
    """

    def __init__(self, stop: Callable[[], None], descriptor: int = 0) -> None:
        """`stop` ends the proxy."""
        self.descriptor, self._read = waitable(descriptor)
        self._stop = stop
        self._held: deque[HeldPacket] = deque()
        self._next: _PromptedPacket | None = None
        """The first of these, as the user changed it."""
        self._aside: list[_PromptedPacket] = []
        self._typed = b""
        self._is_due = False
        """Whether the screen is to be drawn again."""
        self._is_open = False
        """Whether the cursor stands behind the prompt."""

    # what the loop calls

    def on_held(self, packet: HeldPacket) -> None:
        """Take a packet that is held."""
        self._held.append(packet)
        self._is_due |= len(self._held) == 1

    def show_in_s(self) -> float | None:
        """Return 0 if there is something to show."""
        gone = self._held and self._held[0].link.is_closed
        return 0.0 if self._is_due or gone else None

    def flush(self) -> None:
        """Show the packet that is next, and the prompt."""
        self._is_due = False
        while self._held and self._held[0].link.is_closed:
            self._held.popleft()
            self._next = None
        self._aside = [each for each in self._aside if not each.link.is_closed]
        if self._held:
            first = self._held[0]
            self._next = self._next or _PromptedPacket.of(first.link, first.direction, first.data)
            self.make_room()
            show([*self._screen(self._next)], sys.stdout)
        if (self._held or self._aside) and not self._is_open:
            click.echo(PROMPT, nl=False)
            self._is_open = True

    def make_room(self) -> None:
        """Leave the line of the prompt, as something else is to be printed; the prompt then comes again."""
        if self._is_open:
            click.echo()
            self._is_open = False
            self._is_due = True

    def readable(self, _: int) -> None:
        """Obey the lines that were typed; the end of input ends the proxy."""
        data = self._read(LONGEST_LINE)
        if not data:
            self.make_room()
            self._stop()
            return
        *lines, self._typed = (self._typed + data)[-LONGEST_LINE:].split(b"\n")
        for line in lines:
            self._is_open = False
            self._is_due = True
            self.obey(line.decode("utf-8", "surrogateescape"))

    # what the user says

    def obey(self, line: str) -> None:
        """Do what a line says."""
        if line.strip() in ("quit", "exit", "q"):
            self._stop()
            return
        always = {"send": self._send_aside, "help": lambda _: click.echo(HELP)}
        of_packet: dict[str, Callable[[_PromptedPacket, ScriptWord], None]] = {
            "": lambda packet, _: self._release([packet.data] * packet.copies), "edit": self._edit, "hold": self._hold,
            "drop": lambda packet, _: self._release([]), "twice": lambda packet, _: self._release([packet.data] * 2),
            "dup": self._dup, "fin": lambda packet, _: packet.link.between.break_off("FIN"),
            "rst": lambda packet, _: packet.link.between.break_off("RST"),
        }  # fmt: skip
        obey(line, {**{name: self._of_packet(do) for name, do in of_packet.items()}, **always}, self._step)

    def _of_packet(self, do: Callable[[_PromptedPacket, ScriptWord], None]) -> Callable[[ScriptWord], None]:
        def act(words: ScriptWord) -> None:
            if self._next is None:
                click.echo("no packet is held")
            else:
                do(self._next, words)

        return act

    def _release(self, packets: list[bytes]) -> None:
        held, self._next = self._held.popleft(), None
        held.release(packets)

    def _edit(self, packet: _PromptedPacket, words: ScriptWord) -> None:
        if words.text:
            self._next = packet.changed(words)
        else:
            click.echo("edit what? edit q2, edit t=a/b, edit -t")

    def _hold(self, packet: _PromptedPacket, _: ScriptWord) -> None:
        self._aside.append(packet)
        self._release([])

    def _dup(self, packet: _PromptedPacket, _: ScriptWord) -> None:
        self._release([packet.changed(ScriptWord("d1", 1, 1, "d1")).data])

    def _send_aside(self, words: ScriptWord) -> None:
        at = chosen(words, self._aside)
        if at is not None:
            packet = self._aside.pop(at)
            for _ in range(packet.copies):
                packet.link.send(packet.direction, packet.data)

    def _step(self, line: str) -> None:
        near = self._next or (self._aside[0] if self._aside else None)
        if near is None:
            click.echo("no packet is held, so no connection is meant")
            return
        for step in read_line(line, mark=near.direction.mark):
            if isinstance(step, PacketStep):
                for _ in range(step.sending.copies):
                    near.link.send(step.direction, ScriptEncoder(near.link.version).bytes_of(step))
            elif isinstance(step, EndStep) and step.direction:
                near.link.between.break_off(step.how)
            else:
                raise step.word.error("only packets can be sent")

    # what is shown

    def _screen(self, packet: _PromptedPacket) -> Iterator[Line]:
        link = packet.link
        name = f"  client {escape(link.client)}" if link.client else ""
        yield []
        yield [(f"connection {link.between.label}", "label"), (name, "")]
        rows = [("", "client", "broker"), *link.state.lines()]
        yield from state_lines(rows, (each.shown for each in self._aside))
        yield [("next      ", "label"), (packet.shown, "type")]
        data = without_secrets(packet.data, link.version, packet.direction)
        yield from packet_lines(data, link.findings(packet.direction, packet.data))
