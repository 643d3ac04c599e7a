"""The section on the silences of clients."""

from collections.abc import Sequence

from ...common.words import counted, number
from ..answers import Row, top, total
from ..listing import Listing
from ..markup import NAME, NUMBER, TEXT
from ..words import name_text, span_text, time_text
from .common import NOBODY, ReportContext, Section, about, listed


def silences(context: ReportContext) -> Section:
    """Return the longest silences of clients, compared with their Keep Alive."""
    rows = context.summary.silences
    if not rows or not total(rows)["connections"]:
        return [about("No CONNECT was captured, so no Keep Alive is known.")]
    explained = about(
        "The longest time between two packets of a client on one connection, or from its last packet to the end of the "
        "connection or the next connection of the client, as seen at the point of capture. A client must not be silent "
        "for longer than its Keep Alive (MQTT5-3.1.2-20), for which Server Keep Alive in CONNACK takes precedence; "
        "after 1.5 times as long the server must end the connection (MQTT5-3.1.2-22)."
    )
    return [explained, about(sentence(rows)), *listed(longest_silences(rows))]


def sentence(rows: Sequence[Row]) -> str:
    """Return how many connections were measured, and how many clients were too late."""
    whole = total(rows)
    measured = whole["connections"] - whole["off"] - whole["unmeasured"]
    counts = f"{number(whole['late'])} had a longer silence, and {number(whole['missed'])} one of more than 1.5 times"
    parts = [f"of {counted(measured, 'connection')} with a Keep Alive, {counts} as long"]
    if not measured:
        parts = ["no connection had a Keep Alive that it could be compared with"]
    if whole["timed_out"]:
        parts.append(f"the server ended {number(whole['timed_out'])} with 0x8d, Keep Alive timeout")
    if whole["off"]:
        parts.append(f"{counted(whole['off'], 'connection')} had Keep Alive turned off")
    if whole["unmeasured"]:
        parts.append(
            f"{counted(whole['unmeasured'], 'connection')} could not be measured, since the table does not have all "
            "packets of the client with their times"
        )
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def longest_silences(rows: Sequence[Row]) -> Listing:
    """Return the clients whose silence was the longest compared with their Keep Alive."""
    columns = [("client", NAME), ("silence", NUMBER), ("Keep Alive", NUMBER), ("ratio", NUMBER), ("silent since", TEXT),
               ("connections", NUMBER), ("late", NUMBER), ("above 1.5", NUMBER), ("timed out", NUMBER)]  # fmt: skip
    cells = [
        [name_text(row["who"], NOBODY), span_text(row["silence_us"]), f"{number(row['allowed_s'])} s",
         f"{row['ratio']:.2f}", time_text(row["since"]),
         *(number(row[each]) for each in ("connections", "late", "missed", "timed_out"))]
        for row in top(rows, "ratio")
    ]  # fmt: skip
    return Listing("Longest silences compared with Keep Alive", columns, cells, (0, 1, 2, 3, 5, 6, 7))
