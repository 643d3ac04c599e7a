"""What --inspect and --lint put on a connection: an Inspector that shows the packets, a Watch that checks them."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from ...live.failures import Exit, Failure
from ...live.net.target import Target
from ..notes import print_failure

if TYPE_CHECKING:
    from .inspect import Inspector
    from .watch import Watch


class ObservedRequest(Protocol):
    """What the request of a command says of how its connection is shown."""

    @property
    def target(self) -> Target:
        """Where to connect."""

    @property
    def inspect(self) -> bool:
        """Whether to show every packet."""

    @property
    def lint(self) -> bool:
        """Whether to check everything that is sent and received."""

    @property
    def json(self) -> bool:
        """Whether to print JSON Lines."""

    @property
    def secrets(self) -> bool:
        """Whether to show passwords and authentication data."""

    @property
    def full(self) -> bool:
        """Whether to show every byte of a long field."""


def observed(request: ObservedRequest, run: "Callable[[Inspector | None, Watch | None], int]") -> int:
    """Run a request with its observers and return the exit status, which says if the broker broke a rule.

    With --json, a Failure is printed before it is raised.
    """
    with ExitStack() as stack:
        inspector, watch = observers(request, stack)
        try:
            status = run(inspector, watch)
        except Failure as failure:
            if request.json:
                print_failure(failure)
            raise
    return status or (Exit.PEER_FAULT if watch and watch.peer_errors else Exit.DONE)


def observers(request: ObservedRequest, stack: ExitStack) -> "tuple[Inspector | None, Watch | None]":
    """Return the Inspector and the Watch that a request asks for, None for what it does not; both end with the stack.

    An Inspector calls its Watch; where there is none, the Watch observes the connection itself.
    """
    watch = _watch(request, stack) if request.lint else None
    return _inspector(request, watch, stack) if request.inspect else None, watch


def _watch(request: ObservedRequest, stack: ExitStack) -> "Watch":
    from ..inspect.findings import OutputOptions
    from .watch import Watch

    watch = Watch(request.target.version, OutputOptions(json=request.json, secrets=request.secrets, full=request.full))
    stack.callback(watch.end)
    return watch


def _inspector(request: ObservedRequest, watch: "Watch | None", stack: ExitStack) -> "Inspector":
    from .inspect import Inspector

    inspector = Inspector(
        request.target.version, json=request.json, secrets=request.secrets, full=request.full, watch=watch
    )
    stack.callback(inspector.flush)
    return inspector
