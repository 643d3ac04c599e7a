"""What `conn` does with its request: connect, show what the broker allows, ping, stay."""

import sys
import time
from collections import deque
from math import isinf
from typing import TYPE_CHECKING, Any

import click

from ...codec.encode import encode
from ...common.quantiles import Latencies
from ...common.times import duration
from ...common.words import counted
from ...live.failures import Exit, Interrupted
from ...live.incoming import read
from ...live.receive import ReceivedMessage, Receiver
from ...live.session import Session
from ...live.tap import Observer
from ...spec.packets import Connack, Pingreq
from ...view.terminal.style import show
from .. import signals
from ..notes import note, print_json
from ..observe.observers import observed
from .allowed import connected_record, table_lines
from .request import ConnectionRequest

if TYPE_CHECKING:
    from ..observe.inspect import Inspector

AWAITED = "DISCONNECT was sent"
"""What a connection that is kept has still to see."""
PINGRESP = b"\xd0\x00"
PERCENTILES = (50, 95)


def connect(request: ConnectionRequest) -> int:
    """Do what a request asks for and return the exit status; raises a Failure, and UsageError."""
    return observed(request, lambda seen: HeldConnection(request, seen.inspector, seen.observer).run())


class HeldConnection:
    """The connection of a request, and the output about it."""

    def __init__(self, request: ConnectionRequest, inspector: "Inspector | None", observer: Observer | None) -> None:
        self.request = request
        self.inspector = inspector
        self.observer = observer
        self._messages = deque[ReceivedMessage]()
        self._message_count = 0
        # Nothing here answers a message, so it is left to the next client of the session.
        self._receiver = Receiver(request.target.version, queue=self._messages)

    def run(self) -> int:
        """Connect, show what the broker allows, do what is asked for and disconnect; raises a Failure."""
        request, began_s = self.request, time.monotonic()
        try:
            with Session(
                request.target, receiver=self._receiver, timeout_s=request.timeout_s, observer=self.observer
            ) as session:
                connack = session.open()
                self._connected(connack, time.monotonic() - began_s)
                if request.reauthenticate:
                    self._reauthenticate(session)
                if request.pings:
                    self._ping(session)
                if request.stay_s is not None:
                    self._stay(session, request.stay_s)
                session.close()
            self._report_messages()
        except KeyboardInterrupt:
            lasted = duration(int((time.monotonic() - began_s) * 1e9))
            raise Interrupted(f"{signals.word()} after {lasted}", signals.status()) from None
        return Exit.DONE

    def _connected(self, connack: Connack, seconds: float) -> None:
        self._flush()
        target = self.request.target
        if self.request.shown.json:
            print_json(connected_record(connack, target, seconds))
            return
        took = duration(int(seconds * 1e9))
        click.echo(f"connected to {target.place} with MQTT {target.version.label} in {took}")
        show(table_lines(connack, target), sys.stdout)
        sys.stdout.flush()

    def _reauthenticate(self, session: Session) -> None:
        began_ns = time.perf_counter_ns()
        session.reauthenticate()
        took_ns = time.perf_counter_ns() - began_ns
        method = self.request.target.authentication.method if self.request.target.authentication else ""
        self._say({"event": "authenticated", "method": method, "latency_us": took_ns // 1000},
                  f"authenticated again with {method} in {duration(took_ns)}")  # fmt: skip

    def _ping(self, session: Session) -> None:
        request, latencies, version = self.request, Latencies(), session.target.version
        # What is imported and made ready for the first packet of a kind must not count as its way to the broker.
        encode(Pingreq(), version)
        read(PINGRESP, version)
        for number in range(1, request.pings + 1):
            if number > 1:
                self._wait(session, request.ping_interval_s)
            sent_ns = time.perf_counter_ns()
            session.probe()
            took_ns = time.perf_counter_ns() - sent_ns
            latencies.add(took_ns)
            self._say({"event": "ping", "number": number, "latency_us": took_ns // 1000},
                      f"PINGRESP {number} after {duration(took_ns)}")  # fmt: skip
        shares = {f"p{percent}": latencies.percentile(percent) for percent in PERCENTILES}
        known = {"min": latencies.least, **shares, "max": latencies.most}
        self._say(
            {"event": "pings", "count": latencies.count, "latency_us": {key: ns // 1000 for key, ns in known.items()}},
            f"{latencies.count} answered: " + ", ".join(f"{key} {duration(ns)}" for key, ns in known.items()),
        )

    def _stay(self, session: Session, stay_s: float) -> None:
        if not self.request.shown.json:
            note("connected" + ("; press Ctrl-C to disconnect" if isinf(stay_s) else f" for {stay_s:g} s"))
        self._wait(session, stay_s)

    def _wait(self, session: Session, seconds: float) -> None:
        """Keep the connection for some seconds; raises ConnectionLost, or Refused where the broker says why."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            session.step("", most_s=left_s)
            self._message_count += len(self._messages)
            self._messages.clear()
            session.check_open(AWAITED)

    def _report_messages(self) -> None:
        if count := self._message_count + len(self._messages):
            note(f"the broker sent {counted(count, 'message')}, which conn neither shows nor acknowledges; sub does")

    def _say(self, record: dict[str, Any], text: str) -> None:
        self._flush()
        if self.request.shown.json:
            print_json(record)
        else:
            click.echo(text)
        sys.stdout.flush()

    def _flush(self) -> None:
        if self.inspector:
            self.inspector.flush()
