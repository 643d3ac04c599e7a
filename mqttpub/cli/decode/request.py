"""What `decode` is asked to do, as one value that the command makes of its flags."""

from typing import TYPE_CHECKING, NamedTuple

from ..flags.reading import InputRequest
from .views import EventView, View

if TYPE_CHECKING:
    from ...traffic.query import PacketFilter
    from ...view.packet.formatted import PayloadFormat


class DecodeRequest(NamedTuple):
    """What `decode` is to do."""

    input: InputRequest
    view: View | None
    """None shows every packet byte for byte."""
    path: str
    """The file that the view writes; empty for a view on standard output."""
    filter: "PacketFilter | None"
    """The terms of --filter, and one of --follow."""
    follow: str | None
    json: bool
    secrets: bool
    full: bool
    absolute: bool
    payloads: "PayloadFormat | None"
    """The format that payloads are read in."""
    jobs: int = 1
    """Files that are read at the same time."""

    @property
    def needs_events(self) -> bool:
        """Whether something is asked for that only events of connections have, also if the input is text."""
        return self.view is not None or self.filter is not None or self.absolute

    @property
    def takes_runs(self) -> bool:
        """Whether what is drawn takes runs of packets, which large captures in columns have."""
        return not isinstance(self.view, EventView) or self.view.runs
