"""When and where packets were seen, and whose they are: the words below the headlines of dumps."""

from collections.abc import Iterator

from ...common.escape import escape
from ...common.times import Clock
from ...traffic.aliases import Topic
from ...traffic.runs import PacketRun


class Places:
    """Writes these words."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: tuple[int | None, int] = (None, 0)
        self._begin: tuple[str, ...] = ()
        """The words for what `_seen` holds, which packets that arrived together have in common."""

    def of(self, time_ns: int | None, record: int, offset: int, topic: Topic | None, client: str) -> str:
        """Return the words for a packet."""
        if (time_ns, record) != self._seen:
            self._seen = time_ns, record
            time = () if time_ns is None else (f"at {self._clock.show(time_ns).strip()}",)
            self._begin = (*time, f"record {record}") if record else time
        parts = [*self._begin]
        if offset:
            parts.append(f"offset {offset}")
        if topic and topic.alias and topic.name:
            parts.append(f"topic {escape(topic.name)}")
        if client:
            parts.append(escape(client))
        return ", ".join(parts)

    def of_run(self, run: PacketRun) -> Iterator[str]:
        """Yield the words for the packets of a run."""
        # Every packet of a bulk run passes here: this takes half the time of `of`.
        columns, rows, client = run.columns, slice(run.start, run.stop), run.client
        seen, begin, end = (-1, -1), "", f", {escape(client)}" if client else ""
        for time_ns, record, offset in zip(
            columns.time_ns[rows], columns.record[rows], columns.offset[rows], strict=True
        ):
            if time_ns is None or not record or not offset:
                yield self.of(time_ns, record, offset, None, client)
                continue
            if (time_ns, record) != seen:
                seen = time_ns, record
                begin = f"at {self._clock.show(time_ns).strip()}, record {record}, offset"
            yield f"{begin} {offset}{end}"
