"""What looks at the connections of a run: one display, one check and one recording for all of them."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ...common.errors import UserError
from ...live.failures import Exit, Failure
from ...live.net.target import Target
from ...live.tap import Observer, buffering
from ...spec.versions import Direction, Version
from ..notes import note, print_failure
from .shown import Showing

if TYPE_CHECKING:
    from ...codec.frame_runs import FrameRun
    from ...codec.stream import Frame
    from ...lab.recorder import CaptureRecorder, ConnectionRecorder
    from ...live.net.dial import Route
    from .inspect import Inspector, LabelledInspector
    from .watch import Watch, WatchedConnection


class ObservedRequest(Protocol):
    """What the requests of connecting commands have in common."""

    @property
    def target(self) -> Target:
        """Where to connect."""

    @property
    def shown(self) -> Showing:
        """How the connections are shown."""


class Observers:
    """The display, the check and the recording of a run, as far as there are any.

    `observer` is that of a run with one connection at a time, `of` returns one for each of several.
    """

    def __init__(
        self, version: Version, inspector: "Inspector | None", watch: "Watch | None", recorder: "CaptureRecorder | None"
    ) -> None:
        self.inspector = inspector
        self.watch = watch
        self.recorder = recorder
        self._version = version

    @cached_property
    def observer(self) -> Observer | None:
        """The observer of one connection at a time, None where nothing looks at it."""
        watched = self.watch.connection() if self.watch else None
        if self.inspector:
            self.inspector.watch = watched
        return _joined(self.inspector or watched, self.recorder.connection(self._version) if self.recorder else None)

    def of(self, label: str) -> Observer | None:
        """Return the observer of a connection of several, None where nothing looks at it."""
        watched = self.watch.connection(label) if self.watch else None
        labelled: LabelledInspector | WatchedConnection | None = watched
        if self.inspector:
            labelled = self.inspector.of(label, watched)
        return _joined(labelled, self.recorder.connection(self._version, label) if self.recorder else None)

    def flush(self) -> None:
        """Show what is gathered."""
        if self.inspector:
            self.inspector.flush()

    def settle(self) -> None:
        """Show what is gathered, and take all connections so far as ended."""
        self.flush()
        if self.watch:
            self.watch.settle()

    def status(self, status: int) -> int:
        """Return the exit status of a run that ended with another: what the observers found counts where that is 0."""
        if status:
            return status
        if self.recorder and self.recorder.failed:
            return Exit.NOT_WRITTEN
        return Exit.PEER_FAULT if self.watch and self.watch.peer_errors else Exit.DONE


def observed(
    request: ObservedRequest, run: Callable[[Observers], int], peers: Sequence[Direction] = (Direction.SERVER,)
) -> int:
    """Run a request with its observers and return the exit status, which says if a peer broke a rule.

    With --json, a Failure is printed before it is raised.
    """
    with ExitStack() as stack:
        seen = observers(request, stack, peers)
        try:
            status = run(seen)
        except Failure as failure:
            if request.shown.json:
                print_failure(failure)
            raise
    return seen.status(status)


def observers(
    request: ObservedRequest, stack: ExitStack, peers: Sequence[Direction] = (Direction.SERVER,)
) -> Observers:
    """Return the observers that a request asks for, which end with the stack; raises UserError."""
    shown, version = request.shown, request.target.version
    recording = recorder(shown, stack) if shown.capture else None
    watch = _watch(shown, version, stack, peers) if shown.lint else None
    return Observers(version, _inspector(shown, version, stack) if shown.inspect else None, watch, recording)


def recorder(shown: Showing, stack: ExitStack) -> "CaptureRecorder":
    """Return what records the connections of a run; raises UserError for a file that cannot be written."""
    from ...lab.recorder import CaptureRecorder

    try:
        made = CaptureRecorder(shown.capture, masks=shown.masks, file_bytes=shown.file_bytes, say=note)
    except OSError as error:
        raise UserError(f"--capture: cannot write '{shown.capture}': {error.strerror}") from None
    if not shown.masks:
        note(f"'{shown.capture}' will hold passwords as they are sent; --capture-masked masks them")
    stack.callback(made.close)
    return made


def _watch(shown: Showing, version: Version, stack: ExitStack, peers: Sequence[Direction]) -> "Watch":
    from ..lint.findings import OutputOptions
    from .watch import Watch

    watch = Watch(version, OutputOptions(json=shown.json, secrets=shown.secrets, full=shown.full), peers)
    stack.callback(watch.end)
    return watch


def _inspector(shown: Showing, version: Version, stack: ExitStack) -> "Inspector":
    from .inspect import Inspector

    inspector = Inspector(version, json=shown.json, secrets=shown.secrets, full=shown.full)
    stack.callback(inspector.flush)
    return inspector


# a connection that is recorded and shown or checked


def _joined(
    observer: "Inspector | LabelledInspector | WatchedConnection | None", recorder: "ConnectionRecorder | None"
) -> Observer | None:
    if observer is None or recorder is None:
        return observer or recorder
    return _ShownAndRecorded(observer, recorder) if buffering(observer) else _Recorded(observer, recorder)


class _Recorded:
    """A connection whose packets are checked or shown, and whose bytes are recorded."""

    def __init__(self, observer: Any, recorder: "ConnectionRecorder") -> None:
        self._observer = observer
        self._recorder = recorder

    def __call__(self, now: float, frame: "Frame") -> None:
        self._observer(now, frame)

    def together(self, now: float, runs: "Sequence[FrameRun]") -> None:
        """Take packets that passed together."""
        self._observer.together(now, runs)

    def connected(self, route: "Route") -> None:
        """Begin a connection."""
        self._recorder.connected(route)
        self._observer.connected(route)

    def passed(self, now: float, direction: Direction, data: bytes) -> None:
        """Record bytes."""
        self._recorder.passed(now, direction, data)

    def closed(self, now: float, direction: Direction, how: str) -> None:
        """Record an end."""
        self._recorder.closed(now, direction, how)

    def over(self) -> None:
        """End a connection of several."""
        self._recorder.over()
        self._observer.over()


class _ShownAndRecorded(_Recorded):
    """The same, with an observer that gathers packets."""

    def show_in_s(self) -> float | None:
        """Return after how many seconds `flush` is due."""
        seconds: float | None = self._observer.show_in_s()
        return seconds

    def flush(self) -> None:
        """Show what is gathered."""
        self._observer.flush()
