"""Finds the limits of one broker by trying them, each value over connections of its own."""

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from threading import RLock
from typing import Any

from ...codec.decode import decode_packet
from ...script.encoder import RUN, ScriptEncoder
from ...script.reader import read_script
from ...script.steps import PacketStep, Step
from ...spec.declare import Packet
from ...spec.packets import Connack, Publish
from ...spec.properties import MAXIMUM_QOS, REASON_STRING, value_of
from ...spec.reason_codes import FAILURE, Codes
from ...spec.versions import Direction, Version
from .cases import ConformCase
from .limits import PACKET, Agreement, FoundLimit, Limit, highest, limits, limits_by_name
from .playing import BROKEN, KEPT, NOT_EXERCISED, CaseResult, PeerAccess, play
from .run import is_alive, run

ASKING = "> connect clean=1 keep_alive=65535 session_expiry_interval=4294967295; < connack c=00"
"""A connection that asks for as much as it can, so that CONNACK says how much less it gets."""
TEXT = "x"
"""The variable for a text of the length that is tried."""


def run_limits(
    version: Version, wanted: Sequence[Limit], access: PeerAccess, jobs: int, most_bytes: int
) -> Iterator[CaseResult]:
    """Find limits of a broker, `jobs` at a time, and yield each as it is found.

    To find the largest packet, none of more than `most_bytes` is sent.
    """
    search = LimitSearch(version, access, most_bytes)
    cases = [search.case(limit) for limit in wanted]
    if cases and not is_alive(access):
        yield from (CaseResult(case, NOT_EXERCISED, "the peer is gone") for case in cases)
        return
    yield from run(cases, access, jobs, lambda case, _: search.find(limits_by_name()[case.name]))


class LimitSearch:
    """Finds limits of one broker, for several threads at a time."""

    def __init__(self, version: Version, access: PeerAccess, most_bytes: int) -> None:
        self.version = version
        self.most_bytes = most_bytes
        self.access = access
        self._lock = RLock()
        self._connack: Connack | None = None
        self._maximum_qos: CaseResult | None = None

    def case(self, limit: Limit, steps: tuple[Step, ...] = ()) -> ConformCase:
        """Return what is played for a limit."""
        return ConformCase(limit.name, limit.title, self.version, (), (), steps)

    def find(self, limit: Limit) -> CaseResult:
        """Return the trial that shows a limit, with what was found; raises NotConnected."""
        if limit.name == MAXIMUM_QOS.key:
            return self._find_qos()
        found = self._find_qos().found if limit.needs_message else None
        qos = found.seen or 0 if found else 0
        if qos < limit.needs_qos:
            return CaseResult(self.case(limit), NOT_EXERCISED, f"the highest QoS of a message is {qos}")
        # Only an acknowledged message can be refused by name.
        return LimitTrials(self, limit, min(1, qos)).found()

    def _find_qos(self) -> CaseResult:
        with self._lock:
            if self._maximum_qos is None:
                limit = next(each for each in limits(self.version) if each.name == MAXIMUM_QOS.key)
                self._maximum_qos = LimitTrials(self, limit, None).found()
            return self._maximum_qos

    def declared(self, limit: Limit) -> Any:
        """Return what CONNACK says of a limit; what holds where it says nothing; None where that is not known."""
        if self.version is not Version.V5 or limit.row is None:
            return None
        value = value_of(self._offered().properties, limit.row, limit.default)
        return bool(value) if isinstance(limit.default, bool) else value

    def _offered(self) -> Connack:
        """Return the CONNACK of a connection that asks for all; an empty one where there is none."""
        with self._lock:
            if self._connack is None:
                asking = ConformCase("limits", "", self.version, (), (), tuple(read_script([ASKING])))
                came = (decode_packet(each.frame.data, each.version) for each in play(asking, self.access).packets)
                self._connack = next((each for each in came if isinstance(each, Connack)), Connack(properties=()))
            return self._connack


class LimitTrials:
    """The trials of one limit."""

    def __init__(self, search: LimitSearch, limit: Limit, qos: int | None) -> None:
        self.limit = limit
        self._search = search
        self._qos = qos
        """The QoS of a message; None where that is the value that is tried."""
        self._declared = search.declared(limit)
        self._shown: CaseResult | None = None
        """The last trial that was refused, the first one of all if none was."""
        self._why = ""

    def found(self) -> CaseResult:
        """Return the trial that shows the limit, with what was found; raises NotConnected."""
        limit, declared = self.limit, self._declared
        is_least = declared is None and limit.least is not None
        seen, at_least = self._seen()
        found = FoundLimit(limit, limit.least if is_least else declared, seen, at_least, is_least)
        assert self._shown
        if found.agreement is Agreement.ALLOWS_LESS:
            return self._shown._replace(verdict=BROKEN, why=self._why, found=found)
        return self._shown._replace(verdict=KEPT, why=self._why, found=found, packets=())

    def _seen(self) -> tuple[Any, bool]:
        """Return what is seen, and whether nothing above was tried."""
        limit = self.limit
        if limit.each:
            return [name for name, text in limit.each.items() if self._works(text=text, name=f"{name}: ")], False
        if limit.times:
            top = self._top(limit.times)
            seen = self._repeated(top)
            return seen, seen == top
        if limit.highest:
            low, high = limit.highest
            top = max(low, self._top(min(high, limit.bound or high)))
            number = highest(low, top, self._works)
            return (0 if number is None and low == 1 else number), number == top < high
        works = self._works()
        if self._declared is None or isinstance(self._declared, bool):
            return works, False
        return (self._declared if works else 0), False

    def _top(self, top: int) -> int:
        """Return the highest value to try: one more than what is declared, if that is less."""
        if self.limit.text == PACKET:
            top = min(top, self._search.most_bytes)
        return top if self._declared is None else min(top, self._declared + 1)

    def _works(self, number: int = 0, text: str = "", name: str = "") -> bool:
        why = refusal(self._play(number, text.encode()))
        self._why = name + why if why else self._why
        return not why

    def _repeated(self, top: int) -> int:
        """Return how many repetitions were accepted, each with a packet as the last line awaits it."""
        result = self._play(top, b"")
        self._why, answer = refusal(result), getattr(result.case.then[-1], "packet", None)
        accepted = takewhile(lambda packet: not _refusal(packet, self._search.version), _of_server(result))
        return sum(type(packet) is answer for packet in accepted)

    def _play(self, number: int, text: bytes) -> CaseResult:
        qos = number if self._qos is None else self._qos
        steps = self.limit.steps(number, qos)
        run = b"r" + os.urandom(4).hex().encode()
        bindings = {RUN: run, TEXT: text or _text(self.limit, number, run)}
        if self.limit.text == PACKET:
            bindings[TEXT] = _payload(number, steps, bindings, self._search.version)
        result = play(self._search.case(self.limit, steps), self._search.access, bindings)
        if refusal(result) or self._shown is None:
            self._shown = result
        return result


def _text(limit: Limit, number: int, run: bytes) -> bytes:
    """Return a text of so many bytes or levels, which nobody else uses."""
    if limit.text == "levels":
        return run + b"/x" * (number - 1)
    return run[:number].ljust(number, b"x")


def _payload(size: int, steps: Sequence[Step], bindings: Mapping[str, bytes], version: Version) -> bytes:
    """Return a payload that makes a PUBLISH of this size, or of one byte less where none does."""
    encoder = ScriptEncoder(version)
    step = next(step for step in steps if isinstance(step, PacketStep) and step.packet is Publish)

    def packet(payload: int) -> int:
        encoder.bindings |= {**bindings, TEXT: bytes(payload)}
        return len(encoder.bytes_of(step))

    payload = 2 * size - packet(size)
    return bytes(payload + (packet(payload + 1) <= size))


def refusal(result: CaseResult) -> str:
    """Return how the broker refused a trial: a Reason Code, else what it did otherwise; empty if it did not."""
    version = result.case.version
    return next(filter(None, (_refusal(packet, version) for packet in _of_server(result))), result.why)


def _of_server(result: CaseResult) -> Iterator[Packet]:
    for seen in result.packets:
        if seen.frame.direction is Direction.SERVER and (packet := decode_packet(seen.frame.data, seen.version)):
            yield packet


def _refusal(packet: Packet, version: Version) -> str:
    """Return the name of the Reason Code of a packet that refuses, with what is said besides; empty for others."""
    codes = getattr(packet, "reason_codes", None) or (getattr(packet, "reason_code", None) or 0,)
    if codes[-1] < FAILURE and not (isinstance(packet, Connack) and codes[-1]):
        return ""
    said = value_of(getattr(packet, "properties", None), REASON_STRING, "")
    name = Codes(packet.name).name(codes[-1], version)
    return f"{packet.name} 0x{codes[-1]:02x} {name}" + (f": {said}" if said else "")
