"""What `conform` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ...spec.versions import Version
from ..observe.shown import Showing


class ConformRequest(NamedTuple):
    """Which statements to try on which broker, and how the verdicts are shown."""

    target: Target
    timeout_s: float
    version: Version | None = None
    """The only version to try; None for all that the broker speaks."""
    wanted: frozenset[str] = frozenset()
    """Full ids of the only statements to try, and names of the only limits; empty for all."""
    jobs: int = 8
    """Cases that are played at the same time."""
    is_strict: bool = False
    """Whether what a server should do counts as what it must do."""
    is_thorough: bool = False
    """Whether to play the cases that a shared broker is spared."""
    most_bytes: int = 1 << 20
    """Size of the largest packet that is sent to find a limit."""
    junit: str = ""
    """File for the verdicts as JUnit XML."""
    page: str = ""
    """File for the verdicts as a page."""
    client: tuple[str, ...] = ()
    """The command that runs the client to try; empty for a broker."""
    shown: Showing = Showing()
