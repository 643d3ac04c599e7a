"""What `sub` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ...live.subscribe.subscriber import SubscribeOptions
from ...spec.packets import Subscribe, Unsubscribe
from .flags import JSON, OutputForm, Selected


class ReceiveRequest(NamedTuple):
    """What to subscribe to, which messages count, and how they are written."""

    subscribes: tuple[Subscribe, ...]
    unsubscribes: tuple[Unsubscribe, ...]
    target: Target
    options: SubscribeOptions
    selected: Selected = Selected()
    written: OutputForm = OutputForm()
    force: bool = False
    inspect: bool = False
    lint: bool = False
    """Whether to check everything that is sent and received."""
    secrets: bool = False
    """Whether to show passwords and authentication data."""
    full: bool = False
    """Whether to show every byte of a long field."""

    @property
    def json(self) -> bool:
        """Whether everything is written as JSON Lines."""
        return self.written.kind == JSON
