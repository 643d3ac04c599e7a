"""`step` on a terminal: one conversation, packet by packet, with the state of both ends before each prompt."""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from ...codec.decode import decode, decode_packet
from ...common.bad_text import BadText
from ...common.errors import UserError
from ...common.escape import escape
from ...common.files import replacing
from ...lab.exchange_state import ExchangeState
from ...lab.raw_client import RawClient
from ...lint.connection import Conversation
from ...live.failures import Exit
from ...script.encoder import ScriptEncoder
from ...script.lex import ScriptWord, steps
from ...script.reader import read_line
from ...script.steps import EndStep, PacketStep, Step, WaitStep
from ...script.values import time_ns
from ...script.writer import ConnectionWriter
from ...spec.packets import Connect
from ...spec.versions import Direction, Version
from ...view.export.script import HEADING, without_secrets
from ...view.terminal.cells import Line
from ...view.terminal.style import show

if TYPE_CHECKING:
    from ...codec.stream import Frame

NS = 1_000_000_000
QUIET_S = 0.2
"""How long to wait for more after the answer that was due."""
MOST_LABELS = "abcdefghijklmnopqrstuvwxyz"
"""Labels of the connections, one after another."""
HELP = """\
Enter          send the packet that is next, or wait for the one that the broker owes
edit WORD      change the next packet: edit q2, edit t=a/b, edit -reason_string leaves a word out
hold           keep the next packet back; send N sends it later
drop           forget the next packet
twice, dup     send the next packet twice; send it with DUP
wait SECONDS   show what comes for so long
raw HEX        send these bytes
fin, rst       close the connection, or break it off; Enter then connects again
save FILE      write what happened as a script
STEP           send any packet, such as: publish q1 t=a p=hi
quit           end; so does Ctrl-D"""

Dial = Callable[[str, Version], RawClient]
"""Opens the connection of a label; raises NotConnected."""


class StepPrompt:
    """One conversation that the user drives."""

    def __init__(self, dial: Dial, version: Version, connect: Connect, timeout_s: float) -> None:
        self._dial = dial
        self._version = version
        self._connect = connect
        self._timeout_s = timeout_s
        self._client: RawClient | None = None
        self._labels = iter(MOST_LABELS)
        self._label = ""
        self._begin()
        self._next = ""
        """The step that Enter sends; empty if nothing is due."""
        self._held: list[str] = []
        self._dropped: list[str] = []
        """Steps that were due and are not to be sent."""
        self._messages = 0
        self._history: list[str] = []
        """What happened, as the lines of a script."""
        self._last_s = time.monotonic()
        self._has_secret = False

    def _begin(self) -> None:
        """Make ready for a new connection."""
        self._state = ExchangeState()
        self._talk = Conversation(self._version, complete=True)
        self._writer = ConnectionWriter(self._version, itertools.count(1))

    def run(self) -> int:
        """Talk with the user until the end and return the exit status; raises NotConnected."""
        click.echo("Enter sends the packet that is next; help lists what else there is.")
        try:
            while True:
                self._plan()
                self._show_state()
                try:
                    line = input("step> ")
                except EOFError:
                    click.echo()
                    return Exit.DONE
                if line.strip() in ("quit", "exit", "q"):
                    return Exit.DONE
                self._command(line.strip())
        finally:
            if self._client:
                self._client.close()

    # what the user says

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        verbs: dict[str, Callable[[str], None]] = {
            "": self._enter, "edit": self._edit, "hold": self._hold, "drop": self._drop, "twice": self._twice,
            "dup": self._dup, "wait": self._wait, "fin": self._fin, "rst": self._rst, "save": self._save,
            "send": self._send_held, "help": lambda _: click.echo(HELP),
        }  # fmt: skip
        try:
            verbs[name](rest.strip()) if name in verbs else self._step(line)
        except BadText as error:
            click.echo(f"column {error.column}: {error.message}")
        except UserError as error:
            click.echo(str(error))

    def _enter(self, _: str) -> None:
        if self._next:
            self._send(self._next)
            self._next = ""
        else:
            self._listen(self._timeout_s)

    def _edit(self, rest: str) -> None:
        if not rest:
            click.echo("edit what? edit q2, edit t=a/b, edit -t")
            return
        if not self._next:
            click.echo("no packet is next")
            return
        mark, name, *words = (word.text for word in steps(self._next, 1)[0])
        for change in (word.text for step in steps(rest, 1) for word in step):
            key = change.removeprefix("-").partition("=")[0] if "=" in change or change[0] == "-" else change[:1]
            words = [word for word in words if not _is_word_of(word, key)]
            words += [] if change.startswith("-") else [change]
        text = " ".join((mark, name, *words))
        list(read_line(text))
        self._next = text

    def _hold(self, _: str) -> None:
        if self._next:
            self._held.append(self._next)
            self._dropped.append(self._next)
            self._next = ""

    def _drop(self, _: str) -> None:
        self._dropped.append(self._next)
        self._next = ""

    def _twice(self, _: str) -> None:
        if self._next:
            self._send(f"{self._next} twice")
            self._next = ""

    def _dup(self, _: str) -> None:
        if self._next:
            self._send(f"{self._next} d1")
            self._next = ""

    def _send_held(self, rest: str) -> None:
        if not rest.isdecimal() or not 1 <= int(rest) <= len(self._held):
            click.echo(f"send 1 to {len(self._held)}" if self._held else "nothing is held back")
            return
        self._send(self._held.pop(int(rest) - 1))

    def _wait(self, rest: str) -> None:
        self._listen(time_ns(ScriptWord(rest or "1", 1, 6, f"wait {rest}")) / NS, whole=True)

    def _fin(self, _: str) -> None:
        self._end("FIN")

    def _rst(self, _: str) -> None:
        self._end("RST")

    def _end(self, how: str) -> None:
        if self._client is None:
            return
        self._client.reset() if how == "RST" else self._client.finish()
        self._note(f"client {how}")
        if how == "FIN":
            self._listen(QUIET_S)
        self._gone()

    def _save(self, rest: str) -> None:
        if not rest:
            click.echo("save where? save FILE")
            return
        with replacing(rest, private=True) as out:
            out.write("".join(f"{line}\n" for line in (HEADING, f"version {self._version.label}", *self._history)))
        left_out = "; the password is left out, flags give it" if self._has_secret else ""
        click.echo(f"wrote {len(self._history)} steps to {rest}{left_out}")

    def _step(self, line: str) -> None:
        mark = "" if line[:1] in "><" else "> "
        for step in list(read_line(mark + line)):
            if isinstance(step, PacketStep) and step.direction is Direction.CLIENT:
                self._write(step)
            elif isinstance(step, EndStep) and step.direction is Direction.CLIENT:
                self._end(step.how)
            elif isinstance(step, WaitStep):
                self._listen(step.wait_ns / NS, whole=True)
            else:
                click.echo("only what the client does can be sent")

    # the connection

    def _send(self, text: str) -> None:
        for step in read_line(text):
            self._write(step)

    def _write(self, step: Step) -> None:
        assert isinstance(step, PacketStep)
        encoder = ScriptEncoder(self._version, lambda: _filled(self._connect))
        data = encoder.bytes_of(step)
        if self._client is None:
            self._label = next(self._labels)
            self._client = self._dial(self._label, self._version)
            self._begin()
        sent = True
        for _ in range(2 if step.sending.twice else 1):
            sent = sent and self._client.send(data, time.monotonic() + self._timeout_s, step.sending.slice_bytes)
            self._passed(Direction.CLIENT, data)
        if not sent:
            self._closed()
        self._listen(self._timeout_s if self._state.owed[Direction.SERVER] else QUIET_S)

    def _listen(self, seconds: float, *, whole: bool = False) -> None:
        """Show what comes, until the broker owes nothing and is quiet, or for the `whole` time."""
        client = self._client
        if client is None:
            return
        began = time.monotonic()
        until_s = began + seconds
        while (left_s := until_s - time.monotonic()) > 0 and not (client.ended or client.lost):
            if client.wait(min(left_s, QUIET_S)):
                while frame := client.take():
                    self._came(frame)
            elif not whole and (not self._state.owed[Direction.SERVER] or time.monotonic() - began > 1):
                break
        if client.ended:
            self._closed()
        elif client.lost:
            click.echo(f"the broker sent bytes that are no packet: {client.unfinished[:16].hex(' ')}")
            self._gone()

    def _came(self, frame: "Frame") -> None:
        self._passed(Direction.SERVER, frame.data)

    def _closed(self) -> None:
        assert self._client
        how = self._client.ended or "RST"
        self._note(f"server {how}")
        show([[("< ", "label"), (f"{how} closes the connection", "warning")]], sys.stdout)
        self._gone()

    def _gone(self) -> None:
        if self._client:
            self._client.close()
        self._client = None
        self._next = ""

    def _passed(self, sender: Direction, data: bytes) -> None:
        """Show a packet, what the rules find in it, and note it."""
        shown = without_secrets(data, self._version, sender)
        text = self._writer.step(shown, sender)
        found = self._talk.packet(decode(data, self._version, direction=sender), time.time_ns())
        lines: list[Line] = [[(text[:2], "label"), (text[2:], "")], [(f"  {shown.hex(' ')}", "dim")]]
        lines += [
            [(f"  {each.severity}  ", each.severity), (f"{escape(each.message)}  {each.statement}", "")]
            for each in found
        ]
        show(lines, sys.stdout)
        if packet := decode_packet(data, self._version):
            self._state.packet(sender, packet)
            self._has_secret |= shown != data
            if isinstance(packet, Connect):
                text = " ".join(word for word in text.split(" ") if not word.startswith("password="))
        self._note(text)

    def _note(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last_s >= 1 and text[:1] != "<":
            self._history.append(f"+{now - self._last_s:.1f}")
        self._last_s = now
        self._history.append(f"[{self._label}] {text}")

    # what comes next

    def _plan(self) -> None:
        """Choose the packet that Enter sends."""
        if self._next:
            return
        self._next = next((each for each in self._due() if each not in self._dropped), "")

    def _due(self) -> Iterator[str]:
        if self._client is None:
            self._dropped = []
            yield "> connect" if not self._label else "> connect clean=0"
            return
        for owed in self._state.owed[Direction.CLIENT]:
            yield f"> {owed.words}"
        if self._state.owed[Direction.SERVER]:
            return
        if not self._state.connected:
            yield "> connect"
        elif not self._messages:
            self._messages += 1
            yield f"> publish q2 i={self._state.free_identifier()} t=step p=hello"
        else:
            yield "> disconnect"

    def _show_state(self) -> None:
        rows = [("", "client", "broker"), *self._state.lines()] if self._client else []
        lines: list[Line] = [[]]
        lines += [[(f"{name:<10}", "label"), (f"{one:<30}", ""), (other, "")] for name, one, other in rows]
        lines += [[(f"held {number:<5}", "label"), (text, "")] for number, text in enumerate(self._held, 1)]
        waits = "wait for the broker" if self._client and self._state.owed[Direction.SERVER] else "nothing is due"
        lines.append([("next      ", "label"), (self._next or waits, "type" if self._next else "dim")])
        show(lines, sys.stdout)


def _is_word_of(word: str, key: str) -> bool:
    """Whether a word of a step gives the field `key`, in its long or its short form."""
    name = word.partition("=")[0]
    return name == key or (len(key) == 1 and word[:1] == key and "=" not in word)


def _filled(connect: Connect) -> dict[str, object]:
    plain = Connect()
    return {key: value for key, value in connect.__dict__.items() if value != getattr(plain, key)}
