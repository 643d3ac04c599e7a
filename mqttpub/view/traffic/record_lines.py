"""The records of `decode --json`: all fields of each packet, with its connection; other events as `--summary` has them.

A packet is what `view.packet.record_json` makes of it, and then:

| key | value |
| --- | --- |
| `record` | number of the record in the capture that completed the packet, from 1 |
| `connection` | number of the connection, from 1 |
| `client` | Client Identifier, or null |
| `address`, `server` | address and port of the two ends, or null |
| `topic` | where the packet has a Topic Alias: the topic that it means; null when the alias was never set |
| `version_known` | false if no CONNECT of this connection was captured, so that the version is a guess |
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...common.escape import json_text
from ...common.lru import BoundedMemo
from ...traffic.context import PacketInContext, TrafficItem
from ...traffic.events import Endpoints
from ...traffic.runs import PacketRun, RunOrItem
from ..packet.record_json import RecordWriter, dumps
from .facts import LONGEST_REMEMBERED
from .record_runs import MOST_FORMS, RunRecords
from .summary_json import MOST_KEPT, ends_members, event_line

if TYPE_CHECKING:
    from ..packet.formatted import PayloadFormat


class RecordLines:
    """Writes the lines, without line ends."""

    def __init__(
        self, *, secrets: bool = False, payloads: "PayloadFormat | None" = None, most_forms: int = MOST_FORMS
    ) -> None:  # fmt: skip
        writer = RecordWriter(secrets=secrets, payloads=payloads)
        self.runs = RunRecords(writer, self.line, most_forms)
        self._packet = writer.packet
        self._ends: BoundedMemo[int, tuple[str, str]] = BoundedMemo(MOST_KEPT)
        """By connection: its Client Identifier, and the members that say which connection it is."""

    def texts(self, known: RunOrItem) -> Iterable[str]:
        """Return the line of a packet or of another event; of a run those of its packets, with line ends between."""
        if isinstance(known, PacketRun):
            about = self._about(known.ends, known.client) + (_GUESSED if known.guessed else "")
            return self.runs.texts(known, about)
        return (self.line(known),)

    def line(self, known: TrafficItem) -> str:
        """Return the line of a packet or of another event."""
        if not isinstance(known, PacketInContext):
            about = self._ends.get(known.ends.number)
            return event_line(known, about[0] if about else "")
        event, _, topic, client, findings = known
        ends, time_ns, record, data, offset, direction, version, guessed = event
        more = f',"record":{record},{self._about(ends, client)}'
        if topic and topic.alias:
            more += f',"topic":{dumps(json_text(topic.name or "") or None)}'
        if guessed:
            more += _GUESSED
        # Cut to microseconds, as in tables.
        time_s = None if time_ns is None else time_ns // 1000 / 1e6
        return self._packet(data, version, findings or (), direction=direction, offset=offset, time=time_s, more=more)

    def _about(self, ends: Endpoints, client: str) -> str:
        """Return the members that say which connection it is, and keep them."""
        about = self._ends.get(ends.number)
        if about is None or about[0] is not client:
            about = (client, ends_members(ends, client))
            if len(client) <= LONGEST_REMEMBERED:
                self._ends.keep(ends.number, about)
        return about[1]


_GUESSED = ',"version_known":false'
