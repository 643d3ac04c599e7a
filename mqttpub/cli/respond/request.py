"""What `respond` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ...spec.packets import Publish, Subscribe
from ..observe.shown import Showing


class CommandLine(NamedTuple):
    """The command that makes an answer of a request."""

    words: tuple[str, ...]
    """The program and its arguments; for a shell, one line."""
    shell: bool = False
    limit_s: float = 30.0
    """How many seconds it may run."""
    most_bytes: int = 16 << 20
    """How many bytes it may print."""


class RespondRequest(NamedTuple):
    """Which requests to answer, and with what."""

    target: Target
    timeout_s: float
    subscribe: Subscribe
    command: CommandLine
    answer: Publish
    """The PUBLISH of an answer, without topic, payload and Correlation Data; its QoS is the highest of an answer."""
    fallback_topic: str = ""
    """Where answers to requests without a Response Topic go; empty to leave these unanswered."""
    allowed: tuple[str, ...] = ()
    """Topic Filters of the Response Topics that are used; none for any but those that begin with $."""
    parallel: int = 1
    """Number of commands that may run at once."""
    answers_failures: bool = False
    """Whether the output of a command that fails is an answer too."""
    most_requests: int | None = None
    """End after so many requests."""
    duration_s: float | None = None
    """End after so many seconds."""
    reconnects: int | None = 0
    shown: Showing = Showing()
    verbose: bool = False
    """Whether to show a line for each request."""
