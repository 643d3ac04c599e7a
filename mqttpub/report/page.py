"""The page of a report: one HTML file with its style and plots; it has no scripts and loads nothing."""

from collections.abc import Iterator
from pathlib import Path

from ..common.escape import escape
from ..common.files import replacing
from .answers import OnShare, unheard
from .document import document
from .markup import join, tag
from .overview import head, main_numbers
from .question import Answers, Contents
from .sections import about


def write_page(path: str, folder: str | Path, answers: Answers, on_share: OnShare = unheard) -> None:
    """Write the page on the tables in a folder, as a whole or not at all."""
    text = page(str(folder), answers, on_share)
    with replacing(path) as out:
        out.write(text)


def page(title: str, answers: Answers, on_share: OnShare = unheard) -> str:
    """Return the page on the tables of the folder `title`; `on_share` is called with how many sections are drawn."""
    title = f"MQTT report: {escape(title)}"
    sections: list[tuple[str, str, Contents]] = [
        ("overview", "Overview", [main_numbers(answers)]), *_sections(answers, on_share)
    ]  # fmt: skip
    links = (tag("li", tag("a", heading, href=f"#{anchor}")) for anchor, heading, _ in sections)
    body = [
        tag("header", tag("h1", title), join(head(answers))),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", *(
            tag("section", tag("h2", heading), *contents, id=anchor) for anchor, heading, contents in sections
        )),
        tag("footer", "Made by mqttpub pipeline. Times are in UTC. Percentiles are measured values."),
    ]  # fmt: skip
    return document(title, join(body))


def _sections(answers: Answers, on_share: OnShare) -> Iterator[tuple[str, str, Contents]]:
    """Yield the anchors, headings and contents of sections that are not empty."""
    for done, (question, answer) in enumerate(answers.found.items()):
        on_share(done, len(answers.found))
        if answer is None:
            if question.unasked.said:
                last = question.sections[-1]
                yield last.anchor, last.heading, [about(question.unasked.said)]
            continue
        for section in question.sections:
            if contents := section.contents(answer, answers):
                yield section.anchor, section.heading, contents
