"""The cases for a client: what the server's end does, and what the client must do then."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ...common.times import SECOND_NS
from ...script.steps import EndStep, PacketStep, Step, VersionStep, WaitStep
from ...spec.versions import Direction, Version
from .cases import decided_by, entries, of_version, script

BEFORE, INSTEAD, AFTER = "before", "instead", "after"
MOMENTS = (BEFORE, INSTEAD, AFTER)


class CaseAct(NamedTuple):
    """What the server's end does besides being a correct server, once, at a moment."""

    on: PacketStep
    """The packet, of either end, that makes it begin."""
    moment: str
    """Whether that packet comes after the steps, is dropped, or came before them: `before`, `instead`, `after`."""
    versions: VersionStep
    """The versions that the steps are for: words that one of several does not have are left out in it."""
    steps: tuple[Step, ...]
    """What is sent and awaited. A packet with `?` that does not come means that the rest cannot be tried; one with `!`
    must not come before the next awaited one."""


class ClientCase(NamedTuple):
    """One case for a client, for one version."""

    name: str
    """Unique among all cases for clients."""
    title: str
    """What the server does, and the client must do, in a sentence."""
    version: Version
    statements: tuple[str, ...]
    """Full ids of the statements of this version that the awaited steps decide; lint may find others."""
    limits: Mapping[str, Any]
    """Limits of the broker that the client talks to, by the names of `lab.broker.limits.Limits`."""
    connack: PacketStep | None
    """What CONNACK says besides what the broker says in it."""
    act: CaseAct | None
    quiet_s: float
    """How long nothing may pass until the case ends."""
    is_advice: bool = False
    """Whether the text says no more than that a client should do so, although a server must."""
    is_websocket: bool = False
    """Whether it needs a client that connects over WebSocket."""
    is_text: bool = False
    """Whether the server sends its packets in text frames."""

    @property
    def then(self) -> tuple[Step, ...]:
        """The steps that the client must fulfil."""
        return self.act.steps if self.act else ()

    def decided_by(self, step: Step) -> frozenset[str]:
        """Return the statements that a step decides, as for a case for a broker."""
        return decided_by(step, self.statements, self.then)

    @property
    def wait_s(self) -> float:
        """How long it takes with a client that does nothing after it has connected."""
        waits = sum(step.wait_ns for step in self.then if isinstance(step, WaitStep)) / SECOND_NS
        return self.quiet_s + waits


QUIET_S = 1.5
"""How long nothing may pass until a case ends that says nothing else."""


@cache
def client_cases(version: Version) -> tuple[ClientCase, ...]:
    """Return the cases of a version for clients, in the order of their files."""
    return tuple(_case(entry, version) for entry in entries(Direction.CLIENT) if version.label in entry["versions"])


def _case(entry: dict[str, Any], version: Version) -> ClientCase:
    return ClientCase(
        name=entry["name"], title=entry["title"], version=version,
        statements=of_version(entry.get("statements", ()), version, Direction.CLIENT),
        limits=entry.get("limits", {}), connack=_connack(entry), act=_act(entry),
        quiet_s=entry.get("quiet_s", QUIET_S), is_advice=entry.get("should", False),
        is_websocket=entry.get("websocket", False), is_text=entry.get("text", False),
    )  # fmt: skip


def _connack(entry: dict[str, Any]) -> PacketStep | None:
    words = entry.get("connack")
    return _one({**entry, "connack": f"< connack {words}"}, "connack") if words else None


def _act(entry: dict[str, Any]) -> CaseAct | None:
    if "on" not in entry:
        return None
    moment = next(each for each in MOMENTS if each in entry)
    versions, *steps = script(entry, moment)
    wrong = next((step for step in steps if not isinstance(step, PacketStep | EndStep | WaitStep)), None)
    if wrong or not isinstance(versions, VersionStep):
        raise ValueError(f"{entry['name']}: {(wrong or versions).word.text} has no place in a case for clients")
    return CaseAct(_one(entry, "on"), moment, versions, tuple(steps))


def _one(entry: dict[str, Any], key: str) -> PacketStep:
    return next(step for step in script(entry, key) if isinstance(step, PacketStep))
