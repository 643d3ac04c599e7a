"""The page of a report: one HTML file with its style and its plots, without a script, that loads nothing."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from .answers import Details, Summary
from .markup import Markup, join, tag
from .sections import SECTIONS, overview
from .telling import Told
from .wording import Wording


def page(title: str, summary: Summary, details: Details, wording: Wording) -> str:
    """Return the page on the tables of a folder, `title`; `wording` says how foreign text and times are shown."""
    told = Told(summary, details, wording)
    title = f"MQTT report: {wording.text(title)}"
    sections = [(name, heading, section(told)) for name, heading, section in SECTIONS]
    links = (tag("li", tag("a", heading, href=f"#{name}")) for name, heading, _ in sections)
    body = [
        tag("header", tag("h1", title), overview(told)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(tag("section", tag("h2", heading), *content, id=name) for name, heading, content in sections)),
        tag("footer", "Made by mqttpub pipeline. Times are in UTC. Percentiles are values that were measured."),
    ]
    return _filled(title, join(body))


def _filled(title: str, body: Markup) -> str:
    style = _asset("page.css")
    hashed = f"sha256-{b64encode(sha256(style.encode()).digest()).decode('ascii')}"
    policy = f"default-src 'none'; style-src '{hashed}'; img-src data:; base-uri 'none'; form-action 'none'"
    values = {"title": join([title]), "policy": policy, "style": style, "body": body}
    first, *pieces = _asset("page.html").split("{{")
    named = (piece.partition("}}") for piece in pieces)
    return first + "".join(values[name] + rest for name, _, rest in named)


def _asset(name: str) -> str:
    return files("mqttpub").joinpath("report", name).read_text(encoding="utf-8")
