"""The bytes of a whole script: versions and variables, from step to step."""

from collections.abc import Callable, Mapping
from typing import Any

from ..codec.connect_version import connect_version
from ..spec.packets import Connect
from ..spec.versions import Version
from .packets import StepContext, packet_bytes
from .steps import GivenField, PacketStep, VersionStep
from .values import Variable

RUN = "run"
"""A variable that has a value from the start: another one each time a script is played, its own name elsewhere."""


class ScriptEncoder:
    """Makes the bytes of the steps of a script, in their order.

    `asked` is the version that a flag names. A connection has the version of the bytes of its CONNECT, else one of the
    `version` line above it, else the asked one, else 5.0. `connect` returns values for fields that a CONNECT does not
    name, and is called for each CONNECT.
    """

    def __init__(self, asked: Version | None = None, connect: Callable[[], Mapping[str, Any]] = dict) -> None:
        self.bindings: dict[str, int | bytes] = {RUN: RUN.encode()}
        """What the variables of the script stand for."""
        self._asked = asked
        self._connect = connect
        self._line: VersionStep | None = None
        self._versions: dict[str, Version] = {}

    def copy(self) -> "ScriptEncoder":
        """Return an encoder that goes its own way from here."""
        other = ScriptEncoder(self._asked, self._connect)
        other.bindings, other._line, other._versions = dict(self.bindings), self._line, dict(self._versions)
        return other

    def version_line(self, step: VersionStep) -> None:
        """Take the versions of a line for the connections that begin below it; raises BadText."""
        if self._asked and self._asked not in step.versions:
            named = ", ".join(version.label for version in step.versions)
            raise step.word.error(f"the script is for MQTT {named}, not for {self._asked.label}")
        self._line = step

    def spoken(self, label: str, version: Version) -> None:
        """Take the version in which the other end has begun a connection; raises ValueError for one not asked for."""
        versions = self._allowed(version)
        if version not in versions:
            named = ", ".join(each.label for each in versions)
            raise ValueError(f"the client speaks MQTT {version.label}, but the script is for {named}")
        self._versions[label] = version

    def version(self, label: str) -> Version:
        """Return the version of a connection, which begins with this call if it is the first."""
        return self._versions.setdefault(label, self._default())

    def _default(self) -> Version:
        if self._asked:
            return self._asked
        return self._line.versions[0] if self._line else Version.V5

    def bytes_of(self, step: PacketStep) -> bytes:
        """Return the bytes of a packet, once and in one piece; a default of a variable becomes its value.

        Raises BadText.
        """
        if step.packet is Connect or (step.raw[:1] and step.raw[0] >> 4 == Connect.code):
            self._versions[step.label] = self._of_connect(step)
        more = self._connect() if step.packet is Connect else {}
        data = packet_bytes(step, self.context(self.version(step.label), more))
        for each in step.given:
            self._bind(each.value)
        return data

    def context(self, version: Version, more: Mapping[str, Any] | None = None) -> StepContext:
        """Return what the bytes of a step depend on; `more` are values for fields that it does not name."""
        several = self._line is not None and len(self._line.versions) > 1
        return StepContext(version, self.bindings, more or {}, several)

    def _of_connect(self, step: PacketStep) -> Version:
        if step.packet is None:
            found = connect_version(step.raw)
        else:
            fields = (each for each in step.given if isinstance(each, GivenField))
            level = next((each.value for each in fields if each.field.key == "protocol_level"), 0)
            found = Version.of_level(level) if isinstance(level, int) else None
        if found is None:
            return self._default()
        versions = self._allowed(found)
        if found not in versions:
            named = ", ".join(version.label for version in versions)
            raise step.word.error(f"this CONNECT is of MQTT {found.label}, but {named} is asked for")
        return found

    def _allowed(self, spoken: Version) -> tuple[Version, ...]:
        """Return the versions that are asked for; that which is spoken where none is."""
        return (self._asked,) if self._asked else self._line.versions if self._line else (spoken,)

    def _bind(self, value: Any) -> None:
        if isinstance(value, Variable):
            if value.default is not None:
                self.bindings.setdefault(value.name, value.default)
        elif isinstance(value, tuple):
            for part in value:
                self._bind(part)
