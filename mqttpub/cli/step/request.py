"""What `step` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ...spec.versions import Version
from .scripts import NamedScript


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
    inspect: bool = False
    json: bool = False
    secrets: bool = False
    """Whether to show passwords and authentication data."""
    full: bool = False
    """Whether to show every byte of a long field."""
