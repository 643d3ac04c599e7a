"""The page of a report: one HTML file with its style and plots; it has no scripts and loads nothing."""

from collections.abc import Callable

from ..common.escape import escape
from .answers import Details, Summary
from .document import document
from .markup import join, tag
from .sections.anomalies import anomalies
from .sections.churn import churn
from .sections.common import ReportContext, Section
from .sections.comparison import comparison
from .sections.delays import latency, links
from .sections.exchanges import exchanges, refused
from .sections.fan_out import fan_out
from .sections.findings import culprits, findings
from .sections.overview import facts, overview
from .sections.payloads import payloads
from .sections.silences import silences
from .sections.sparkplug import sparkplug
from .sections.topic_tree import topic_tree
from .sections.traffic import traffic
from .sections.volumes import overhead, talkers

SECTIONS: tuple[tuple[str, str, Callable[[ReportContext], Section]], ...] = (
    ("overview", "Overview", facts),
    ("comparison", "Compared with another run", comparison),
    ("traffic", "Traffic over time", traffic),
    ("latency", "Ack latency", latency),
    ("links", "Quality of links", links),
    ("connections", "Connections", churn),
    ("silences", "Silences and Keep Alive", silences),
    ("exchanges", "Exchanges by outcome", exchanges),
    ("refused", "Refused by Reason Code", refused),
    ("talkers", "Top talkers", talkers),
    ("topics", "Topic tree", topic_tree),
    ("fan-out", "Fan-out", fan_out),
    ("anomalies", "Anomalies", anomalies),
    ("bytes", "Overhead and aliases", overhead),
    ("payloads", "Payloads", payloads),
    ("sparkplug", "Sparkplug B", sparkplug),
    ("culprits", "Findings by client", culprits),
    ("findings", "Findings by statement", findings),
)
"""The sections of the page in order: anchor, heading, and the function that makes it; an empty one is left out."""


def page(title: str, summary: Summary, details: Details) -> str:
    """Return the page on the tables of the folder `title`."""
    context = ReportContext(summary, details)
    title = f"MQTT report: {escape(title)}"
    made = ((name, heading, section(context)) for name, heading, section in SECTIONS)
    sections = [(name, heading, content) for name, heading, content in made if content]
    links = (tag("li", tag("a", heading, href=f"#{name}")) for name, heading, _ in sections)
    body = [
        tag("header", tag("h1", title), overview(context)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(tag("section", tag("h2", heading), *content, id=name) for name, heading, content in sections)),
        tag("footer", "Made by mqttpub pipeline. Times are in UTC. Percentiles are measured values."),
    ]
    return document(title, join(body))
