"""What `sub` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ...live.subscribe.subscriber import SubscribeOptions
from ...spec.packets import Subscribe, Unsubscribe
from ..observe.shown import Showing
from .flags import OutputForm, Selected


class ReceiveRequest(NamedTuple):
    """What to subscribe to, which messages count, and how they are written."""

    subscribes: tuple[Subscribe, ...]
    unsubscribes: tuple[Unsubscribe, ...]
    target: Target
    options: SubscribeOptions
    selected: Selected = Selected()
    written: OutputForm = OutputForm()
    shown: Showing = Showing()
