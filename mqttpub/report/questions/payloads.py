"""What payloads are: their kinds, how the form of a topic's payloads drifts, and Sparkplug B."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...common.escape import escape
from ...common.times import iso
from ...common.words import counted, number, share
from ...payload.kinds import MALFORMED, SPARKPLUG, sparkplug_decoder
from ...spark.pipeline.manifest import Manifest
from ...view.terminal.cells import Line
from ..engines import WHOLE_PACKETS
from ..listing import ROWS, count_cell, titled_table
from ..markup import NAME, NUMBER, TEXT, Markup, folded, table, tag
from ..payloads.forms import FORMS, forms
from ..plots import Bar, bars, drawn, stack
from ..question import TOP, Answers, Contents, Question, ReportTables, Section, Stage, Unasked
from ..rows import plain
from ..sections import NAMED, NO_TOPIC, NOBODY, SIDES, about, ranked
from ..sql import NEVER, PLACE, TOPIC, WHO
from ..words import name_text, time_text
from . import sparkplug
from .sparkplug import SparkplugAnswers, indented, undecoded
from .topics import BRIEF_NO_TOPIC
from .traffic import TRAFFIC

KEPT = ("keep", "hash", "drop")
"""What tables can have of payloads, from all to nothing."""
MOST_VERSIONS = 12
"""Forms of a topic that are shown."""
MOST_PATHS = 8
"""Paths that a sentence names."""
_NOT_KEPT = {
    "hash": "The tables have the SHA-256 of each payload in its place (--payload hash), which says nothing about it.",
    "drop": "The tables have no payloads (--payload drop).",
}


class MessagePlace(NamedTuple):
    """Where a message is in the captures."""

    time: int | None
    """Microseconds since 1970."""
    capture: str
    frame: int
    pos: int
    who: str
    """The client that sent or received it."""


_STREAM = f"if(direction = 'server', {WHO}, '')"
"""SQL for the receiver of what a server sent; empty for what publishers sent."""
_MESSAGES = f"""
    SELECT {TOPIC} AS topic, {_STREAM} AS stream, {WHO} AS who, unix_micros(time) AS time, capture, frame, pos,
        payload_bytes AS size, payload
    FROM {{{WHOLE_PACKETS}}} WHERE type = 'PUBLISH' AND payload IS NOT NULL
"""
_AT = f"struct(coalesce(time, {NEVER}) AS at, time, capture, frame, pos, who)"
"""SQL for the place of a message, in order; what has no time comes first."""
_LAG = f"lag(version) OVER (PARTITION BY topic, stream ORDER BY {', '.join(PLACE)})"
_VERSIONS = f"""
    SELECT topic, stream, version, max(kind) AS kind, max(schema) AS schema, count(*) AS messages, sum(size) AS bytes,
        count_if(changed) AS changes, count_if(repeated) AS repeated, count_if(cut) AS cut, min({_AT}) AS first,
        max({_AT}) AS last
    FROM (SELECT *, coalesce(version != {_LAG}, false) AS changed FROM {{forms}})
    GROUP BY topic, stream, version
"""
"""SQL for the forms of each topic in each stream."""
_KINDS = """
    SELECT kind, coalesce(sum(messages) FILTER (WHERE stream = ''), 0) AS client_messages,
        coalesce(sum(messages) FILTER (WHERE stream != ''), 0) AS server_messages, sum(messages) AS messages,
        sum(bytes) AS bytes, count(DISTINCT topic) AS topics, sum(repeated) AS repeated, sum(cut) AS cut
    FROM {versions} GROUP BY kind ORDER BY messages DESC, kind
"""


def _place(name: str) -> str:
    """Return SQL for the MessagePlace in the column of such a place."""
    return f"struct({', '.join(f'{name}.{each} AS {each}' for each in MessagePlace._fields)}) AS {name}"


_OF_TOPIC = "OVER (PARTITION BY topic, stream)"
_DRIFT = f"""
    WITH each AS (
        SELECT *, count(*) {_OF_TOPIC} AS forms, sum(messages) {_OF_TOPIC} AS of_topic,
            sum(changes) {_OF_TOPIC} AS all_changes,
            row_number() OVER (PARTITION BY topic, stream ORDER BY first, version) AS number,
            -- A batch has the text of a schema once, in whichever stream it comes first.
            max(schema) OVER (PARTITION BY topic, version) AS text
        FROM {{versions}} WHERE topic IS NOT NULL AND kind NOT IN ('{SPARKPLUG}', '{MALFORMED}')
    ), topics AS (
        SELECT topic, stream, count(*) OVER () AS drifting
        FROM (SELECT *, row_number() OVER (PARTITION BY topic ORDER BY stream = '' DESC, of_topic DESC, stream) AS rank
              FROM each WHERE number = 1)
        WHERE rank = 1 AND forms > 1 ORDER BY all_changes DESC, forms DESC, topic LIMIT {TOP}
    )
    SELECT topic, stream AS receiver, of_topic AS messages, all_changes AS changes, forms, drifting,
        kind, text, each.messages AS of_form, {_place("first")}, {_place("last")}
    FROM each JOIN topics USING (topic, stream) WHERE number <= {MOST_VERSIONS}
    ORDER BY all_changes DESC, forms DESC, topic, number
"""
"""SQL for the forms of the topics that changed most, each in the stream that shows it best.

A message counts once, although a capture at a server shows it once from its publisher and once to each subscriber:
what publishers sent is used, or else what the receiver with most of it got.
"""


class PayloadKind(NamedTuple):
    """Messages whose payloads are of one kind."""

    kind: str
    client_messages: int
    server_messages: int
    messages: int
    bytes: int
    topics: int
    repeated: int
    """Messages of JSON that had an object with two members of one name."""
    cut: int
    """Messages of JSON of which the schema leaves out what is deep or long."""


class SchemaVersion(NamedTuple):
    """A form that the payloads of a topic had: a kind, and for JSON a schema."""

    kind: str
    paths: Mapping[str, str]
    """Types by path, for objects and arrays of JSON."""
    messages: int
    first: MessagePlace
    last: MessagePlace

    def said(self, before: "SchemaVersion | None") -> str:
        """Return what is new compared with the form that appeared before; of the first one, all of it."""
        if before is None or before.kind != self.kind:
            paths = [f"{path} ({type})" for path, type in self.paths.items()]
            was = f" (was {before.kind})" if before else ""
            return f"{self.kind}{was}" + (f" with {_named(paths)}" if paths else "")
        came = [f"{path} ({type})" for path, type in self.paths.items() if path not in before.paths]
        went = [path for path in before.paths if path not in self.paths]
        other = [
            f"{path} now {type} (was {before.paths[path]})"
            for path, type in self.paths.items()
            if before.paths.get(path, type) != type
        ]
        parts = [
            f"new {_named(came)}" if came else "", f"without {_named(went)}" if went else "",
            _named(other) if other else "",
        ]  # fmt: skip
        return "; ".join(filter(None, parts)) or "differs in what is left out"


def _named(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_PATHS
    return ", ".join([*texts[:MOST_PATHS], *([f"{more} more"] if more > 0 else [])])


class TopicDrift(NamedTuple):
    """A topic whose payloads changed their form."""

    topic: str
    receiver: str
    """The client that received the messages; empty where they were captured from their publishers."""
    messages: int
    changes: int
    """How often a message had another form than the one before."""
    forms: int
    """How many forms there were."""
    versions: Sequence[SchemaVersion]
    """The first of them, in the order in which they appeared."""


class PayloadAnswers(NamedTuple):
    """What is known of the payloads."""

    kept: str = KEPT[0]
    """What the tables have of payloads, of KEPT; there are answers only for the first."""
    kinds: Sequence[PayloadKind] = ()
    """The most frequent first."""
    drifting: int = 0
    """How many topics changed their form."""
    drift: Sequence[TopicDrift] = ()
    """The topics that changed most often."""
    sparkplug: SparkplugAnswers | None = None
    """None if there are no topics of Sparkplug B."""
    undecoded: bool = False
    """Whether there are, but the package that decodes them is missing."""

    @property
    def not_kept(self) -> str:
        """The sentence on payloads that are not in the tables; empty if they are."""
        return _NOT_KEPT.get(self.kept, "")

    @property
    def remarks(self) -> list[str]:
        """Sentences on JSON that schemas do not show completely."""
        repeated, cut = sum(row.repeated for row in self.kinds), sum(row.cut for row in self.kinds)
        twice = f"{counted(repeated, 'message')} of JSON had an object with two members of one name."
        left_out = f"Of {counted(cut, 'message')} of JSON the schema leaves out what is deep or long."
        return [*([twice] if repeated else []), *([left_out] if cut else [])]


class _FormOfTopic(NamedTuple):
    """A form of a topic that drifts."""

    topic: str
    receiver: str
    messages: int
    changes: int
    forms: int
    drifting: int
    kind: str
    text: str | None
    """The types of its paths, in lines."""
    of_form: int
    """Messages of this form."""
    first: MessagePlace
    last: MessagePlace


def _ask(tables: ReportTables) -> PayloadAnswers:
    runs = {run.get("payload", KEPT[0]) for run in Manifest.in_folder(tables.folder).runs}
    kept = next((each for each in reversed(KEPT) if each in runs), KEPT[0])
    if kept != KEPT[0]:
        return PayloadAnswers(kept)
    engine = tables.engine
    forms_of_messages = engine.mapped(_MESSAGES, tables.named(_MESSAGES), forms, FORMS)
    versions = engine.kept(_VERSIONS, {"forms": forms_of_messages})
    kinds = tables.rows(PayloadKind, _KINDS, versions=versions)
    forms_of_topics = tables.rows(_FormOfTopic, _DRIFT, versions=versions)
    drifting = forms_of_topics[0].drifting if forms_of_topics else 0
    found = PayloadAnswers(kinds=kinds, drifting=drifting, drift=_by_topic(forms_of_topics))
    if not any(row.kind in (SPARKPLUG, MALFORMED) for row in kinds):
        return found
    if sparkplug_decoder() is None:
        return found._replace(undecoded=True)
    return found._replace(sparkplug=sparkplug.ask(tables))


def _by_topic(rows: Sequence[_FormOfTopic]) -> list[TopicDrift]:
    """Return the topics of rows, each with its forms."""
    versions: dict[str, list[SchemaVersion]] = {}
    firsts: dict[str, _FormOfTopic] = {}
    for row in rows:
        paths = dict(line.split("\t", 1) for line in (row.text or "").splitlines())
        version = SchemaVersion(row.kind, paths, row.of_form, row.first, row.last)
        versions.setdefault(firsts.setdefault(row.topic, row).topic, []).append(version)
    return [
        TopicDrift(topic, row.receiver, row.messages, row.changes, row.forms, versions[topic])
        for topic, row in firsts.items()
    ]


# the page


def _contents(found: PayloadAnswers, answers: Answers) -> Contents:
    if found.not_kept:
        return [about(found.not_kept)]
    if not found.kinds:
        return [about("There is no PUBLISH.")]
    return [*_kinds(found.kinds), *(about(each) for each in found.remarks), *_drift(found, answers)]


def _kinds(kinds: Sequence[PayloadKind]) -> Contents:
    whole = sum(row.messages for row in kinds)
    values: list[Bar] = []
    for row in kinds:
        sides = zip((row.client_messages, row.server_messages), SIDES, strict=False)
        values += stack(row.kind, ((count, hue, f"{row.kind}: {number(count)} {side}") for count, (side, hue) in sides))
    columns = [("kind", TEXT), ("messages", NUMBER), ("of all", NUMBER), *((each, NUMBER) for each, _ in SIDES[:2]),
               ("bytes", NUMBER), ("topics", NUMBER)]  # fmt: skip
    rows = [
        [row.kind, number(row.messages), share(row.messages, whole),
         *map(number, (row.client_messages, row.server_messages, row.bytes, row.topics))]
        for row in kinds
    ]  # fmt: skip
    explained = about(
        "The kind is what the bytes look like: JSON, else text, else CBOR or MessagePack; Sparkplug B is recognized by "
        "its topics. What a server sent to several subscribers counts for each of them."
    )
    return [explained, drawn(bars("PUBLISH by kind of payload", values, SIDES[:2])), table("Kinds", columns, rows)]


def _drift(found: PayloadAnswers, answers: Answers) -> Contents:
    if not found.drift:
        return [about("No topic changed the form of its payloads: kind, and keys and types of JSON.")]
    columns = [("", NUMBER), ("topic", NAME), ("forms", NUMBER), ("changes", NUMBER), ("messages", NUMBER)]
    rows = [
        [str(rank), name_text(each.topic, NO_TOPIC), *map(number, (each.forms, each.changes, each.messages))]
        for rank, each in enumerate(found.drift, 1)
    ]
    explained = about(
        f"{counted(found.drifting, 'topic')} changed the form of payloads: their kind, or keys and types of JSON. "
        "A change is a message of another form than the one before, so forms that alternate have many. Each message "
        "counts once, as its publisher sent it, or where that was not captured, as the receiver of most of them got it."
    )
    title = "Topics whose payloads changed their form, most changes first"
    # The head of the page names a single capture.
    places = len(answers[TRAFFIC].sources) != 1
    return [explained, *ranked(title, columns, rows), *(_forms(each, places) for each in found.drift[:NAMED])]


def _forms(drift: TopicDrift, places: bool) -> Markup:
    """Return the forms of a topic, with the captures in which they are first seen if `places`."""
    columns = [("first", TEXT), ("last", TEXT), ("messages", NUMBER), ("form", NAME), ("sent by", TEXT),
               ("record", NUMBER), *([("capture", NAME)] if places else [])]  # fmt: skip
    rows = [
        [time_text(each.first.time), time_text(each.last.time), number(each.messages), each.said(before),
         "-" if drift.receiver else name_text(each.first.who, NOBODY), number(each.first.frame),
         *([escape(each.first.capture)] if places else [])]
        for before, each in zip((None, *drift.versions), drift.versions, strict=False)
    ]  # fmt: skip
    topic = name_text(drift.topic, NO_TOPIC)
    content = [table(f"Forms of {topic}, in the order in which they appeared", columns, rows)]
    if drift.forms > len(rows):
        content.append(tag("p", f"{counted(drift.forms - len(rows), 'more form')} came later.", class_="about"))
    return folded(f"{topic}: {counted(drift.forms, 'form')}", *content)


def _sparkplug_contents(found: PayloadAnswers, answers: Answers) -> Contents:
    if found.not_kept:
        return [about(found.not_kept)]
    if found.undecoded:
        return [about(undecoded())]
    return sparkplug.contents(found.sparkplug, answers)


# the terminal


def _kind_lines(found: PayloadAnswers, answers: Answers, width: int) -> Iterator[Line]:
    if found.kinds:
        yield from titled_table("Payloads by kind", ("", "from clients", "from servers", "bytes", "topics"), (
            [(row.kind, "type"),
             *map(count_cell, (row.client_messages, row.server_messages, row.bytes, row.topics))]
            for row in found.kinds
        ), width)  # fmt: skip


def _drift_lines(found: PayloadAnswers, answers: Answers, width: int) -> Iterator[Line]:
    shown = found.drift[:ROWS]
    if not shown:
        return
    columns = ("topic", "changed first", "record", "forms", "changes")
    yield from titled_table("Topics whose payloads changed their form", columns, (
        [(name_text(each.topic, BRIEF_NO_TOPIC), "topic"), (time_text(each.versions[1].first.time), "dim"),
         count_cell(each.versions[1].first.frame), count_cell(each.forms), count_cell(each.changes, "warning")]
        for each in shown
    ), width, 2)  # fmt: skip
    for each in shown:
        said = each.versions[1].said(each.versions[0])
        yield from indented([(f"{name_text(each.topic, BRIEF_NO_TOPIC)}: ", "topic"), (said, "")], width)


def _node_lines(found: PayloadAnswers, answers: Answers, width: int) -> Iterator[Line]:
    return sparkplug.node_lines(found.sparkplug, width)


def _host_lines(found: PayloadAnswers, answers: Answers, width: int) -> Iterator[Line]:
    return sparkplug.host_lines(found.sparkplug, width)


def _remark_lines(found: PayloadAnswers, answers: Answers, width: int) -> Iterator[Line]:
    said = (found.not_kept, *found.remarks, undecoded() if found.undecoded else "")
    return ([(sentence, "dim")] for sentence in said if sentence)


# JSON


def _record(found: PayloadAnswers, answers: Answers) -> Mapping[str, Any]:
    drift = [{**each._asdict(), "versions": list(map(_version, each.versions))} for each in found.drift]
    return {"payloads": {
        "kept": found.kept, "kinds": plain(found.kinds), "drifting": found.drifting, "drift": drift,
        "sparkplug": found.sparkplug and sparkplug.record(found.sparkplug),
    }}  # fmt: skip


def _version(version: SchemaVersion) -> dict[str, Any]:
    return {**version._asdict(), "first": _placed(version.first), "last": _placed(version.last)}


def _placed(place: MessagePlace) -> dict[str, Any]:
    return {**place._asdict(), "time": None if place.time is None else iso(place.time * 1000)}


PAYLOADS = Question(
    Stage.THOROUGH, _ask,
    sections=(Section("payloads", "Payloads", _contents), Section("sparkplug", "Sparkplug B", _sparkplug_contents)),
    blocks=(_kind_lines, _drift_lines, _node_lines, _host_lines, _remark_lines), record=_record,
    unasked=Unasked(record={"payloads": None}),
)  # fmt: skip
