"""A line of a mosquitto client, run by the client itself and by ours, and what each of them said and sent."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.spec.declare import Packet
from mqttpub.spec.packets import Connack, Puback, Pubcomp, Pubrec, Pubrel, Suback
from mqttpub.spec.versions import Direction, Version
from tests.fakes import Peer, Script, scripted


class Run(NamedTuple):
    """What came of one line."""

    status: int
    stdout: bytes
    stderr: bytes
    sent: bytes = b""
    """The bytes on the wire."""

    def checked(self) -> "Run":
        """Return the run, which ended well."""
        assert self.status == 0, self
        return self


def theirs(program: str) -> list[str]:
    """Return the command of the real client."""
    path = shutil.which(program)
    assert path, f"the tests need {program} (Debian: apt-get install mosquitto-clients)"
    return [path]


def ours(program: str) -> list[str]:
    """Return the command of our client."""
    return [sys.executable, "-m", "mqttpub", program]


def run(command: list[str], words: list[str], data: bytes = b"", env: Mapping[str, str] | None = None) -> Run:
    """Run a line without a broker."""
    made = subprocess.run([*command, *words], input=data, capture_output=True, timeout=30, check=False, env=env)
    return Run(made.returncode, made.stdout, made.stderr)


class Recorder:
    """A script that answers each packet as a broker does, and keeps what it was sent."""

    def __init__(self, connack: bytes | None = None) -> None:
        self.sent = b""
        self._connack = connack
        self._version = Version.V5

    def __call__(self, peer: Peer) -> None:
        """Answer until the client closes."""
        while packet := peer.packet():
            self.sent += packet
            for answer in self._answers(packet):
                peer.sock.sendall(answer)

    def _answers(self, data: bytes) -> list[bytes]:
        if data[0] >> 4 == 1:
            self._version = Version.of_level(data[2 + 2 + int.from_bytes(data[2:4])]) or Version.V5
            return [self._connack or encode(Connack(), self._version)]
        packet: Any = decode(data, self._version, direction=Direction.CLIENT).packet
        answer = _ANSWERS.get(packet.name, lambda packet: None)(packet)
        return [encode(answer, self._version)] if answer else []


def _to_publish(packet: Any) -> Packet | None:
    return {1: Puback, 2: Pubrec}[packet.qos](packet_id=packet.packet_id) if packet.qos else None


_ANSWERS: dict[str, Callable[[Any], Packet | None]] = {
    "PUBLISH": _to_publish,
    "PUBREC": lambda packet: Pubrel(packet_id=packet.packet_id),
    "PUBREL": lambda packet: Pubcomp(packet_id=packet.packet_id),
    "SUBSCRIBE": lambda packet: Suback(
        packet_id=packet.packet_id, reason_codes=tuple(each.qos for each in packet.subscriptions)
    ),
}  # fmt: skip


def talk(command: list[str], words: list[str], script: Script, data: bytes = b"") -> Run:
    """Run a line with a scripted peer as its broker; PORT in it stands for the port of the peer."""
    with scripted(script) as port:
        if "PORT" not in " ".join(words):
            words = [*words, "-p", "PORT"]
        made = run(command, [word.replace("PORT", str(port)) for word in words], data)
    return made._replace(sent=getattr(script, "sent", b""))


def compared(program: str, line: str, data: bytes = b"", script: Callable[[], Script] = Recorder) -> tuple[Run, Run]:
    """Return what the client and what ours made of a line with the same peer."""
    words = shlex.split(line)
    return talk(theirs(program), words, script(), data), talk(ours(program), words, script(), data)
