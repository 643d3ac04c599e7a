"""What `step` is asked to do, as one value that the command makes of its flags."""

from typing import Any, NamedTuple, Protocol

from ...live.net.target import Target
from ...script.steps import PacketStep, Step
from ...spec.packets import Connect
from ...spec.versions import Version
from ..observe.shown import Showing
from .scripts import NamedScript


class PlayRequest(Protocol):
    """What the requests of `step` and `send` have in common."""

    @property
    def target(self) -> Target:
        """Where to connect; its CONNECT fills what those of the steps leave open."""

    @property
    def timeout_s(self) -> float:
        """How long to wait for a packet."""

    @property
    def version(self) -> Version | None:
        """The version that a flag names."""

    @property
    def is_client_id_chosen(self) -> bool:
        """Whether the user gave the Client Identifier."""

    @property
    def shown(self) -> Showing:
        """How the connections are shown."""


class StepRequest(NamedTuple):
    """Which scripts to play, against which broker, and how it is shown."""

    scripts: tuple[NamedScript, ...]
    target: Target
    """Where to connect; its CONNECT fills what those of the scripts leave open."""
    timeout_s: float
    version: Version | None = None
    """The version that a flag names; None where the scripts decide."""
    is_client_id_chosen: bool = False
    """Whether the user gave the Client Identifier for CONNECTs without one."""
    jobs: int = 1
    """Scripts that are played at the same time."""
    junit: str = ""
    """File for the results as JUnit XML."""
    shown: Showing = Showing()


class SendRequest(NamedTuple):
    """What to send to which broker, what must come, and how it is shown."""

    steps: tuple[Step, ...]
    expected: tuple[PacketStep, ...]
    """Lines that must be fulfilled, in their order; other packets may come between."""
    target: Target
    timeout_s: float
    wait_s: float
    """How long to show what comes after all was sent and all that is expected came."""
    connects: bool = True
    """Whether the CONNECT of the target goes first."""
    version: Version | None = None
    is_client_id_chosen: bool = False
    shown: Showing = Showing()


def connect_fields(connect: Connect) -> dict[str, Any]:
    """Return the fields of a CONNECT that have not their defaults."""
    plain = Connect()
    return {key: value for key, value in connect.__dict__.items() if value != getattr(plain, key)}
