"""What `request` is asked to do, as one value that the command makes of its flags."""

from collections.abc import Iterator
from typing import NamedTuple

from ...live.net.target import Target
from ...live.request.requester import AskOptions
from ...spec.packets import Publish
from ..observe.shown import Showing
from ..sub.flags import OutputForm


class AskRequest(NamedTuple):
    """What to ask, where, and how the answers are shown."""

    target: Target
    packet: Publish
    """The PUBLISH of a request, without Response Topic and Correlation Data."""
    options: AskOptions
    packets: Iterator[Publish] | None = None
    """The requests one by one, where a template makes each; None for equal ones."""
    asks_response_information: bool = False
    """Whether CONNECT asks for Response Information."""
    written: OutputForm = OutputForm()
    """How answers are written, to standard output."""
    shown: Showing = Showing()
