"""The query on the tree of topics: what is sent below each level."""

from typing import Any

from ..answers import Row
from .common import WHO, asked

DEPTH = 6
"""Levels; what is deeper counts for the level above."""
WIDTH = 8
"""Levels below one level, at most."""
MOST_LEVELS = 120
"""Levels in all, at most."""
_FETCHED = 20 * MOST_LEVELS
"""Levels with the most messages that are fetched; those below a level that is not shown are then left out."""
_COUNTS = (
    "messages", "bytes", "client_messages", "server_messages", "client_retained", "server_retained", "qos0", "qos1",
    "qos2",
)  # fmt: skip


def topic_tree(spark: Any, data: dict[str, Any]) -> list[Row]:
    """Return the levels of topics with the most messages, a level after that above it.

    The root has the depth 0; `indent` is the depth at which a row is shown, and `label` its name below the row above. A
    row of `others` is what remains of the level above it, messages on the very topic of that level included; it has no
    `publishers`, as these can be the same as those of other rows.
    """
    named = ("count(*)", "sum(length)", "count_if(direction = 'client')", "count_if(direction = 'server')",
             "count_if(retain AND direction = 'client')", "count_if(retain AND direction = 'server')",
             *(f"count_if(qos = {qos})" for qos in range(3)))  # fmt: skip
    counted = ", ".join(f"{sql} AS {name}" for name, sql in zip(_COUNTS, named, strict=True))
    added = ", ".join(f"sum({name}) AS {name}" for name in _COUNTS)
    query = f"""
        WITH each AS (
            SELECT resolved_topic AS topic, split(resolved_topic, '/') AS levels, {WHO} AS who, {counted}
            FROM {{packets}} WHERE type = 'PUBLISH' AND resolved_topic IS NOT NULL GROUP BY resolved_topic, who
        ), level AS (
            SELECT depth, array_join(slice(levels, 1, depth), '/') AS name,
                array_join(slice(levels, 1, greatest(depth - 1, 0)), '/') AS above,
                count(DISTINCT topic) AS topics, {added},
                count(DISTINCT if(client_messages > 0, who, NULL)) AS publishers
            FROM each LATERAL VIEW explode(sequence(0, least(size(levels), {DEPTH}))) AS depth GROUP BY 1, 2, 3
        )
        SELECT * FROM (
            SELECT *, row_number() OVER (PARTITION BY depth, above ORDER BY messages DESC, name) AS place FROM level
        ) WHERE place <= {WIDTH} ORDER BY messages DESC, depth, name LIMIT {_FETCHED}
    """
    return _arranged(asked(spark, query, data))


def _arranged(rows: list[Row]) -> list[Row]:
    """Return levels whose levels above are shown too, each followed by those below it and what remains of them.

    A level has at least the messages of each one below it, so it comes before these in the rows. One that is all that
    there is below another takes the place of that.
    """
    below: dict[tuple[int, str], list[Row]] = {}
    shown: set[tuple[int, str]] = set()
    for row in rows:
        above = row["depth"] - 1, row["above"]
        if len(shown) < MOST_LEVELS and (row["depth"] == 0 or above in shown):
            shown.add((row["depth"], row["name"]))
            below.setdefault(above, []).append(row)
    found: list[Row] = []
    waiting = [(0, 0, row) for row in below.get((-1, ""), [])]
    while waiting:
        indent, cut, row = waiting.pop()
        inner = [] if row.get("others") else below.get((row["depth"], row["name"]), [])
        if len(inner) == 1 and row["depth"] and inner[0]["messages"] == row["messages"]:
            waiting.append((indent, cut, inner[0]))
            continue
        found.append({**row, "indent": indent, "label": row["name"][cut:]})
        rest = [_rest(row, inner)] if inner else []
        cut = len(row["name"]) + 1 if row["depth"] else 0
        waiting += [(indent + 1, cut, each) for each in (*rest, *reversed(inner)) if each["messages"]]
    return found


def _rest(row: Row, inner: list[Row]) -> Row:
    """Return what remains below a level beside those levels."""
    sums = {name: row[name] - sum(each[name] for each in inner) for name in (*_COUNTS, "topics")}
    return {**row, **sums, "depth": row["depth"] + 1, "others": True, "publishers": None}
