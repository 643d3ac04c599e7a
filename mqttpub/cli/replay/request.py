"""What `replay` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...lab.replay.replay import ReplayOptions
from ...lab.replay.rewrite import Rewrite
from ...lab.replay.whole import User
from ...live.net.target import Target
from ...spec.versions import Direction
from ..observe.shown import Showing


class ReplayRequest(NamedTuple):
    """Which capture to play, how, against which broker, and how it is shown."""

    source: str
    """The capture; `-` is standard input."""
    options: ReplayOptions
    user: User
    """What takes the place of what the CONNECT packets say."""
    rewrite: Rewrite
    sender: Direction | None = None
    """The end whose PUBLISH packets are sent over one connection; None for whole client sides."""
    shown: Showing = Showing()

    @property
    def target(self) -> Target:
        """Where to connect."""
        return self.options.target
