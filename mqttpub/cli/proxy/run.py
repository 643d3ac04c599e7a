"""What `proxy` does with its request: serve until a signal comes, and print what happens."""

import click

from ...common.escape import escape
from ...common.system import open_files
from ...common.words import counted
from ...lab.faults.faults import FaultReport
from ...lab.proxy.intercept import Interception
from ...lab.proxy.link import LinkEvent
from ...lab.proxy.proxy import ProxyServer, ProxySettings
from ...lab.serving.served_socket import READ
from ...live.failures import Exit
from ...spec.versions import Direction
from ..fault_flags import fault_record, say_seed, show_fault
from ..notes import note, print_json
from ..observe.observers import Observers, observed
from .intercept import WELCOME, InterceptPrompt
from .request import ProxyRequest

OTHER_FILES = 24
"""Files that the program has open besides the two sockets of each connection."""


def proxy(request: ProxyRequest) -> int:
    """Do what a request asks for and return the exit status; raises UsageError for a port in use."""
    return observed(request, lambda seen: _proxy(request, seen), peers=tuple(Direction))


def _proxy(request: ProxyRequest, seen: Observers) -> int:
    most = _connections_allowed(request.most_connections)
    events = ProxyEvents(request, seen)
    if request.faults:
        request.faults.report = events.fault
        say_seed(request.faults)
    settings = ProxySettings(
        timeout_s=request.timeout_s, most_connections=most, observe=seen.of, faults=request.faults,
        shows=seen.inspector,
    )  # fmt: skip
    serving: ProxyServer
    if request.intercept:
        events.prompt = prompt = InterceptPrompt(lambda: serving.stop())
        settings = settings._replace(interception=Interception(request.intercept, prompt.on_held), shows=prompt)
    serving = ProxyServer(request.address, request.target, events.happened, settings, layers=request.layers)
    try:
        serving.open()
    except OSError as error:
        raise click.UsageError(f"cannot listen on {request.listen.place}: {error.strerror}") from None
    try:
        events.listening(serving.port)
        if events.prompt:
            serving.selector.register(events.prompt.descriptor, READ, events.prompt.readable)
        serving.serve()
    except KeyboardInterrupt:
        # A signal is how a proxy is meant to end.
        return Exit.DONE
    finally:
        serving.stop()
    return Exit.DONE


class ProxyEvents:
    """Prints what happens: sentences on standard error or, with --json, records on standard output."""

    def __init__(self, request: ProxyRequest, seen: Observers) -> None:
        self._request = request
        self._seen = seen
        self.prompt: InterceptPrompt | None = None
        """The prompt on the terminal, which makes room for what is printed."""

    def _make_room(self) -> None:
        self._seen.flush()
        if self.prompt:
            self.prompt.make_room()

    def listening(self, port: int) -> None:
        """Say where clients can connect."""
        listen, broker = self._request.listen._replace(port=port), self._request.target.place
        if self._request.shown.json:
            print_json({"event": "listening", "address": listen.host, "port": port, "broker": broker})
        else:
            note(f"listening on {listen.place} -> {broker}; press Ctrl-C to stop")
        if self.prompt:
            click.echo(WELCOME)

    def happened(self, event: LinkEvent) -> None:
        """Print what happened to a connection, after the packets that came before."""
        self._make_room()
        if self._request.shown.json:
            label = {"connection": event.label} if event.label else {}
            print_json({"event": event.kind, **label, **event.details})
        else:
            note(f"connection {event.label} {escape(event.words)}" if event.label else escape(event.words))

    def fault(self, report: FaultReport) -> None:
        """Print what a fault did."""
        self._make_room()
        if self._request.shown.json:
            print_json(fault_record(report))
        else:
            show_fault(report)


def _connections_allowed(most: int) -> int:
    """Ask the system for two open files for each connection, and return how many connections it allows."""
    files = open_files(2 * most + OTHER_FILES)
    allowed = max((files - OTHER_FILES) // 2, 1)
    if allowed < most:
        note(f"the system allows {files:,} open files (`ulimit -n`): {counted(allowed, 'connection')} at a time")
    return allowed
