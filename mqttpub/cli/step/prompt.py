"""`step` on a terminal: one conversation, packet by packet, with the state of both ends before each prompt."""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from string import ascii_lowercase
from typing import TYPE_CHECKING

import click

from ...codec.decode import decode
from ...common.errors import UserError
from ...common.escape import escape
from ...common.files import replacing
from ...common.times import SECOND_NS
from ...lab.exchange_state import ExchangeState
from ...lab.player import Dial
from ...lab.raw_client import RawClient
from ...lint.connection import Conversation
from ...lint.packet.check import lint
from ...live.failures import Exit, NotConnected
from ...script.encoder import ScriptEncoder
from ...script.lex import ScriptWord
from ...script.reader import read_line
from ...script.steps import EndStep, PacketStep, Step, VersionStep, WaitStep
from ...script.values import time_ns
from ...script.writer import ConnectionWriter
from ...spec.packets import Connect, Publish
from ...spec.versions import Direction, Version
from ...view.export.script import HEADING
from ...view.packet.masking import without_secrets
from ...view.terminal.cells import Line
from ...view.terminal.style import show
from .editing import edited
from .request import connect_fields
from .screen import chosen, obey, packet_lines, state_lines, without_variables

if TYPE_CHECKING:
    from ...codec.stream import Frame

QUIET_S = 0.2
"""How long to wait for more after the answer that was due."""
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


class StepPrompt:
    """One conversation that the user drives."""

    def __init__(self, dial: Dial, version: Version, connect: Connect, timeout_s: float) -> None:
        self._dial = dial
        self._version = version
        self._connect = connect
        self._timeout_s = timeout_s
        self._client: RawClient | None = None
        self._labels = map(label, itertools.count())
        self._label = ""
        self._variables = itertools.count(1)
        """Numbers of the variables, which the connections of a script share."""
        self._begin()
        self._next = ""
        """The step that Enter sends; empty if nothing is due."""
        self._edited = ""
        """The next step as the user changed it; empty if the user did not."""
        self._due = ""
        """The step that the protocol asks for, before it was changed."""
        self._held: list[str] = []
        self._dropped: set[str] = set()
        """Steps that are due and are not to be sent."""
        self._has_published = False
        self._history: list[str] = []
        """What happened, as the lines of a script."""
        self._last_s = time.monotonic()
        self._has_secret = False

    def _begin(self) -> None:
        """Make ready for a new connection."""
        self._state = ExchangeState()
        self._talk = Conversation(self._version, complete=True)
        self._writer = ConnectionWriter(self._version, self._variables)

    def run(self) -> int:
        """Talk with the user until the end and return the exit status; raises NotConnected for the first connection."""
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
                self._command(line)
        finally:
            if self._client:
                self._client.close()

    # what the user says

    def _command(self, line: str) -> None:
        verbs: dict[str, Callable[[ScriptWord], None]] = {
            "": self._enter, "edit": self._edit, "hold": self._hold, "drop": self._drop, "twice": self._twice,
            "dup": self._dup, "wait": self._wait, "fin": self._fin, "rst": self._rst, "save": self._save,
            "send": self._send_held, "help": lambda _: click.echo(HELP),
        }  # fmt: skip
        obey(line, verbs, self._step)

    def _enter(self, _: ScriptWord) -> None:
        if self._next:
            self._send_next()
        else:
            self._listen(self._timeout_s)

    def _edit(self, rest: ScriptWord) -> None:
        if not rest.text:
            click.echo("edit what? edit q2, edit t=a/b, edit -t")
        elif not self._next:
            click.echo("no packet is next")
        else:
            self._edited = edited(self._next, rest)

    def _hold(self, rest: ScriptWord) -> None:
        if self._next:
            self._held.append(self._next)
            self._drop(rest)

    def _drop(self, _: ScriptWord) -> None:
        self._dropped.add(self._due)
        self._has_published |= self._due.startswith("> publish ")
        self._edited = ""

    def _twice(self, _: ScriptWord) -> None:
        if self._next:
            self._send_next("twice")

    def _dup(self, _: ScriptWord) -> None:
        if self._next:
            self._send_next("d1")

    def _send_next(self, change: str = "") -> None:
        step = edited(self._next, ScriptWord(change, 1, 1, change)) if change else self._next
        self._edited = ""
        self._send(step)

    def _send_held(self, rest: ScriptWord) -> None:
        at = chosen(rest, self._held)
        if at is not None:
            self._send(self._held.pop(at))

    def _wait(self, rest: ScriptWord) -> None:
        self._listen(time_ns(rest if rest.text else rest._replace(text="1")) / SECOND_NS, whole=True)

    def _fin(self, _: ScriptWord) -> None:
        self._end("FIN")

    def _rst(self, _: ScriptWord) -> None:
        self._end("RST")

    def _end(self, how: str) -> None:
        if self._client is None:
            return
        self._client.reset() if how == "RST" else self._client.finish()
        self._note(f"client {how}")
        if how == "FIN":
            self._listen(QUIET_S)
        self._gone()

    def _save(self, rest: ScriptWord) -> None:
        place = rest.text
        if not place:
            click.echo("save where? save FILE")
            return
        try:
            with replacing(place, private=True) as out:
                lines = (HEADING, f"version {self._version.label}", *self._history)
                out.write("".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise UserError(f"cannot write '{place}': {error.strerror}") from None
        left_out = "; the password is left out, flags give it" if self._has_secret else ""
        click.echo(f"wrote {len(self._history)} steps to {escape(place)}{left_out}")

    def _step(self, line: str) -> None:
        for step in list(read_line(line, mark=">")):
            named = "" if isinstance(step, VersionStep) else step.label
            if named and (self._client is None or named != self._label):
                open_one = f"[{self._label}] is open" if self._client else "none is open"
                raise step.word.error(f"a label names the connection that is open, and {open_one}")
            if isinstance(step, PacketStep) and step.direction is Direction.CLIENT:
                self._write(step)
            elif isinstance(step, EndStep) and step.direction is Direction.CLIENT:
                self._end(step.how)
            elif isinstance(step, WaitStep):
                self._listen(step.wait_ns / SECOND_NS, whole=True)
            else:
                raise step.word.error("only what the client does can be sent")

    # the connection

    def _send(self, text: str) -> None:
        for step in read_line(text):
            self._write(step)

    def _write(self, step: Step) -> None:
        assert isinstance(step, PacketStep)
        encoder = ScriptEncoder(self._version, lambda: connect_fields(self._connect))
        data = encoder.bytes_of(step)
        if self._client is None:
            fresh = next(self._labels)
            try:
                self._client = self._dial(fresh, self._version)
            except NotConnected as error:
                if not self._history:
                    raise
                # What happened so far can still be saved.
                raise UserError(str(error)) from None
            self._label = fresh
            self._begin()
        sent = True
        for _ in range(step.sending.copies):
            try:
                sent = sent and self._client.send(data, time.monotonic() + self._timeout_s, step.sending.slice_bytes)
            except TimeoutError:
                click.echo(
                    f"the broker did not take all of it within {self._timeout_s:g} s; the connection is broken off"
                )
                self._end("RST")
                return
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
            click.echo(f"the broker sent bytes that are not a packet: {client.unfinished[:16].hex(' ')}")
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
        self._edited = ""

    def _passed(self, sender: Direction, data: bytes) -> None:
        """Show a packet, what the rules find in it, and note it."""
        shown = without_secrets(data, self._version, sender)
        text = self._writer.step(shown, sender)
        decoded = decode(data, self._version, direction=sender)
        found = [*lint(decoded, sender), *self._talk.packet(decoded, time.time_ns())]
        seen = without_variables(text)
        lines: list[Line] = [[(seen[:2], "label"), (seen[2:], "")], *packet_lines(shown, found)]
        show(lines, sys.stdout)
        if packet := decoded.packet:
            self._state.packet(sender, packet)
            self._has_published |= sender is Direction.CLIENT and isinstance(packet, Publish)
            self._has_secret |= shown != data
            if isinstance(packet, Connect):
                text = " ".join(word for word in text.split(" ") if not word.startswith("password="))
        self._note(text)

    def _note(self, text: str) -> None:
        now = time.monotonic()
        if self._history and now - self._last_s >= 1 and text[:1] != "<":
            self._history.append(f"+{now - self._last_s:.1f}")
        self._last_s = now
        self._history.append(f"[{self._label}] {text}")

    # what comes next

    def _plan(self) -> None:
        """Choose the packet that Enter sends: the one that the user changed, or else what is due now."""
        due = list(self._all_due())
        self._dropped &= set(due)
        if not self._edited:
            waits = self._client and self._state.owed[Direction.SERVER]
            ready = due[: len(self._state.owed[Direction.CLIENT])] if waits else due
            self._due = next((each for each in ready if each not in self._dropped), "")
        self._next = self._edited or self._due

    def _all_due(self) -> Iterator[str]:
        """Yield what the client owes, and then what may follow once the broker owes nothing."""
        if self._client is None:
            yield "> connect" if not self._label else "> connect clean=0"
            return
        for owed in self._state.owed[Direction.CLIENT]:
            yield f"> {owed.words}"
        if not self._state.connected:
            yield "> connect"
            return
        if not self._has_published:
            yield f"> publish q2 i={self._state.free_identifier()} t=step p=hello"
        yield "> disconnect"

    def _show_state(self) -> None:
        rows = [("", "client", "broker"), *self._state.lines()] if self._client else []
        lines: list[Line] = [[], *state_lines(rows, self._held)]
        waits = "wait for the broker" if self._client and self._state.owed[Direction.SERVER] else "nothing is due"
        lines.append([("next      ", "label"), (self._next or waits, "type" if self._next else "dim")])
        show(lines, sys.stdout)


def label(number: int) -> str:
    """Return the label of a connection of a conversation, counted from 0: a to z, a1 to z1, and so on."""
    return f"{ascii_lowercase[number % 26]}{number // 26 or ''}"
