"""What a connection is answered, held against what the capture shows."""

from collections.abc import Callable

from ...spec.packets import Disconnect, Publish
from ...spec.reason_codes import Codes as CodeNames
from ...spec.versions import Direction, Version
from ...traffic.aliases import Aliases
from .deliveries import CAME, CAPTURED, ComparedMessages, Room
from .requests import Request
from .result import Difference

MOST_KINDS = 1000
"""Kinds of differences of one connection that are reported; those of others are only counted."""


class SideComparison:
    """The answers and messages of one connection, each CAPTURED or CAME; differences of a kind are counted together."""

    def __init__(self, number: int, client: str, version: Version, room: Room) -> None:
        self.number = number
        self.client = client
        self.version = version
        self.deliveries = ComparedMessages(room)
        self.follows_messages = True
        """Whether the messages that come are compared."""
        self.differences = 0
        self.counts = [0, 0]
        """Messages and PUBRELs of the server, CAPTURED and CAME."""
        self.is_refused = False
        """Whether CONNACK refused the connection, so that its end says nothing more."""
        self._found: dict[tuple[str, str, str], Difference] = {}
        self._aliases = Aliases(), Aliases()
        """Topic Aliases that the server has set, CAPTURED and CAME."""
        self._goodbyes = ["", ""]
        """The DISCONNECT of the server."""
        self._server_first = [False, False]
        """Whether the server ended the connection before the client did."""

    def message(self, which: int, packet: Publish, rewrite: Callable[[str], str] = str) -> None:
        """Take a message that came for a subscription."""
        name = self._aliases[which].resolve(packet, Direction.SERVER).name
        # One with DUP is there only because something was lost.
        if name is not None and not packet.dup:
            self.deliveries.add(which, rewrite(name), packet.payload)
            self.counts[which] += 1

    def released(self, which: int) -> None:
        """Take a PUBREL of the server."""
        self.counts[which] += 1

    def goodbye(self, which: int, packet: Disconnect) -> None:
        """Take a DISCONNECT of the server."""
        self._goodbyes[which] = self.code("DISCONNECT", packet.reason_code or 0)

    def server_ended(self, which: int) -> None:
        """Note that the server ended the connection first."""
        self._server_first[which] = True

    def answer(self, request: Request) -> None:
        """Compare the Reason Codes of an answer, once both are known."""
        captured, came = request.captured, request.came
        if captured is None or came is None or captured == came:
            return
        name = request.answer
        was, now = (", ".join(self.code(name, each) for each in codes) or "no code" for codes in (captured, came))
        self.note(name, f"{name} {now} came where the capture has {was}", topic=request.topic, captured=was, came=now)

    def missing(self, request: Request) -> None:
        """Note a request that the capture has answered and the broker has not."""
        answer = "PUBCOMP" if request.released else request.answer
        self.note(answer, f"no {answer} came", topic=request.topic)

    def note(self, what: str, message: str, *, topic: str = "", captured: str = "", came: str = "") -> None:
        """Note a difference; those with one message are counted together, with the topic of the first."""
        self.differences += 1
        key = what, captured, message
        known = self._found.get(key)
        if known:
            self._found[key] = known._replace(times=known.times + 1)
        elif len(self._found) < MOST_KINDS:
            self._found[key] = Difference(self.number, self.client, what, message, topic, captured, came)

    def code(self, packet: str, code: int) -> str:
        """Return a Reason Code with its name."""
        return f"0x{code:02X} {CodeNames(packet).name(code, self.version)}".rstrip()

    def finish(self, report: Callable[[Difference], None], *, complete: bool) -> None:
        """Report what differs; `complete` says whether all that the capture has of the connection was played."""
        if complete:
            self._compare_ends()
        for found in self._found.values():
            report(found)
        for each in self.deliveries.differences():
            if self.follows_messages and complete:
                self.differences += 1
                report(
                    Difference(
                        self.number, self.client, "messages", each.message, each.topic, str(each.captured),
                        str(each.came), each.position,
                    )
                )  # fmt: skip

    def _compare_ends(self) -> None:
        was, now = self._goodbyes
        if self.is_refused:
            return
        if was != now:
            said = f"DISCONNECT {now} came" if now else "no DISCONNECT came"
            self.note("DISCONNECT", f"{said} where the capture has {was or 'none'}", captured=was, came=now)
        elif self._server_first[CAME] and not self._server_first[CAPTURED]:
            self.note("end", "the broker ended the connection; in the capture it did not")
        elif self._server_first[CAPTURED] and not self._server_first[CAME]:
            self.note("end", "the broker did not end the connection; in the capture it did")
