"""What `lint` is asked to do, as one value that the command makes of its flags."""

from typing import TYPE_CHECKING, NamedTuple

from ..flags.reading import InputRequest
from .findings import OutputOptions

if TYPE_CHECKING:
    from ...traffic.query import PacketFilter


class LintRequest(NamedTuple):
    """What `lint` is to do."""

    input: InputRequest
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    severity: str
    filter: "PacketFilter | None"
    limit: int | None
    """Findings of one statement to show; None shows all."""
    by: str | None
    """What findings are counted by; None stands for clients, if there are several connections."""
    report: bool
    output: OutputOptions
    jobs: int = 1
    """Files that are checked at the same time."""

    @property
    def selects(self) -> bool:
        """Whether flags leave findings out."""
        return bool(self.select or self.ignore or self.filter)
