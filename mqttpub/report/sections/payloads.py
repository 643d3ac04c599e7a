"""The section on payloads: their kinds, and topics whose payloads changed their form."""

from ...common.escape import escape
from ...common.words import counted, number, share
from ..markup import NAME, NUMBER, TEXT, folded, table, tag
from ..payloads.answers import PayloadAnswers, TopicDrift
from ..payloads.words import form_text, remarks
from ..plots import bars, drawn
from ..words import name_text, time_text
from .common import NAMED, NO_TOPIC, NOBODY, SIDES, ReportContext, Section, about, on_payloads, ranked

_COUNTS = ("client_messages", "server_messages", "bytes", "topics")


@on_payloads
def payloads(context: ReportContext, answers: PayloadAnswers) -> Section:
    """Return the kinds of payloads, and for each topic that drifts what changed when."""
    if not answers.kinds:
        return [about("There is no PUBLISH.")]
    return [*_kinds(answers), *(about(each) for each in remarks(answers)), *_drift(context, answers)]


def _kinds(answers: PayloadAnswers) -> Section:
    whole = sum(row["messages"] for row in answers.kinds)
    values = []
    for row in answers.kinds:
        low = 0
        for name, (side, hue) in zip(("client_messages", "server_messages"), SIDES, strict=False):
            text = f"{row['kind']}: {number(row[name])} {side}"
            if row[name]:
                values.append({"row": row["kind"], "low": low, "high": low + row[name], "hue": hue, "about": text})
            low += row[name]
    columns = [("kind", TEXT), ("messages", NUMBER), ("of all", NUMBER), *((each, NUMBER) for each, _ in SIDES[:2]),
               ("bytes", NUMBER), ("topics", NUMBER)]  # fmt: skip
    rows = [
        [row["kind"], number(row["messages"]), share(row["messages"], whole), *(number(row[name]) for name in _COUNTS)]
        for row in answers.kinds
    ]
    explained = about(
        "The kind is what the bytes look like: JSON, else text, else CBOR or MessagePack; Sparkplug B is recognized by "
        "its topics. What a server sent to several subscribers counts for each of them."
    )
    return [explained, drawn(bars("PUBLISH by kind of payload", values, SIDES[:2])), table("Kinds", columns, rows)]


def _drift(context: ReportContext, answers: PayloadAnswers) -> Section:
    if not answers.drift:
        return [about("No topic changed the form of its payloads: kind, and keys and types of JSON.")]
    columns = [("", NUMBER), ("topic", NAME), ("forms", NUMBER), ("changes", NUMBER), ("messages", NUMBER)]
    rows = [
        [str(rank), name_text(each.topic, NO_TOPIC), *map(number, (each.forms, each.changes, each.messages))]
        for rank, each in enumerate(answers.drift, 1)
    ]
    explained = about(
        f"{counted(answers.drifting, 'topic')} changed the form of payloads: their kind, or keys and types of JSON. "
        "A change is a message of another form than the one before, so forms that alternate have many. Each message "
        "counts once, as its publisher sent it, or where that was not captured, as the receiver of most of them got it."
    )
    title = "Topics whose payloads changed their form, most changes first"
    return [explained, *ranked(title, columns, rows), *(_forms(context, each) for each in answers.drift[:NAMED])]


def _forms(context: ReportContext, drift: TopicDrift) -> str:
    columns = [("first", TEXT), ("last", TEXT), ("messages", NUMBER), ("form", NAME), ("sent by", TEXT),
               ("record", NUMBER), ("capture", NAME)]  # fmt: skip
    rows = []
    for before, each in zip((None, *drift.versions), drift.versions, strict=False):
        sender = "-" if drift.receiver else name_text(each.first["who"], NOBODY)
        rows.append([
            time_text(each.first["time"]), time_text(each.last["time"]), number(each.messages), form_text(each, before),
            sender, number(each.first["frame"]), escape(each.first["capture"]),
        ])  # fmt: skip
    # The head of the page names a single capture.
    kept = len(columns) - (len(context.summary.made.sources) == 1)
    caption = f"Forms of {name_text(drift.topic, NO_TOPIC)}, in the order in which they appeared"
    content = [table(caption, columns[:kept], [row[:kept] for row in rows])]
    if drift.forms > len(rows):
        content.append(tag("p", f"{counted(drift.forms - len(rows), 'more form')} came later.", class_="about"))
    return folded(f"{name_text(drift.topic, NO_TOPIC)}: {counted(drift.forms, 'form')}", *content)
