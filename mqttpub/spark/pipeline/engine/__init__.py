"""What does the tasks of a run: Spark, or processes of this machine.

An engine is made for one job. It does the work in `run`, while another thread may ask for its `progress` or
`cancel` it.
"""

from typing import NamedTuple, Protocol

from ..job import TaskResult

LIST, START = "listing sources", "starting Spark"
FIND, ROUTE, READ, PAIR = "dividing large captures", "reading captures", "decoding packets", "pairing exchanges"
JOIN, COMMIT = "joining files", "making tables visible"
QUERY, QUERY_MORE, DRAW = "querying the tables", "querying for the page", "making the page"
STOP, WAIT = "stopping Spark", "waiting for more"
"""What a run does one after the other, in words for users; not every run does all of it."""


class Failed(RuntimeError):
    """The work failed, and nothing was written; the message is one sentence."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


class StageShare(NamedTuple):
    """How far the work is."""

    stage: str
    share: float
    """Of the stage, 0 to 1."""


class TaskEngine(Protocol):
    """Does the tasks of a job."""

    def run(self) -> list[TaskResult]:
        """Do all tasks and return their results; raises Failed, and OSError where nothing can be written."""

    def progress(self) -> StageShare:
        """Return how far it is."""

    def cancel(self) -> None:
        """Make `run` end soon, by any exception."""
