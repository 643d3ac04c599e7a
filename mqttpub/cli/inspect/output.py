"""What `decode` does with captures, and with any input that is to be shown otherwise than byte for byte."""

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ...common.files import PAGE, check_place, file_id
from ...reading.follow import JudgedTraffic
from ...reading.input import AllEvents, AnyInput, InputOptions, short_names
from ...traffic.context import Known
from ...traffic.query import Filter
from ...view.terminal.reading_bar import ReadingBar
from ..flags.types import DIRECTIONS
from ..notes import note
from . import views
from .views import Settings

VIEWS: dict[str, Callable[[Iterable[Known], Settings], None]] = {
    "summary": views.summary, "flows": views.flows, "stats": views.stats, "ladder": views.ladder,
    "svg": views.svg, "mermaid": views.mermaid, "pdml": views.pdml, "tshark_json": views.tshark_json,
}  # fmt: skip
"""Views by the flag that asks for them."""
WITH_JSON = ("summary", "flows", "stats")


def asked_view(given: dict[str, Any]) -> str:
    """Return the view that was asked for, empty for none; raises UsageError where they contradict one another."""
    asked = [name for name in (*VIEWS, "html") if given[name]]
    flags = [f"--{name.replace('_', '-')}" for name in asked]
    if asked[1:]:
        raise click.UsageError(f"{' and '.join(flags)} are different views; give one of them")
    if asked and given["as_json"] and asked[0] not in WITH_JSON:
        raise click.UsageError(f"{flags[0]} has no JSON form; --json goes with --summary, --flows and --stats")
    return asked[0] if asked else ""


def input_options(given: dict[str, Any]) -> InputOptions:
    """Return how inputs are to be read."""
    keylog = given["keylog"]
    return InputOptions(
        given["form"], given["mqtt_version"], DIRECTIONS.get(given["direction"]), tuple(given["port"]),
        Path(keylog) if keylog else None, given["max_connections"],
    )  # fmt: skip


def filter_of(given: dict[str, Any]) -> Filter | None:
    """Return the filter that --filter and --follow make together; raises UsageError."""
    terms = list(given["filter"])
    if given["follow"] is not None:
        quoted = given["follow"].replace("\\", "\\\\").replace('"', '\\"')
        terms.append(f'client="{quoted}"')
    for text in given["filter"]:
        try:
            Filter.parse(text)
        except ValueError as error:
            raise click.UsageError(f"--filter: {error}") from None
    return Filter.parse(" ".join(terms)) if terms else None


class Viewing:
    """One run over inputs that are opened already."""

    def __init__(self, given: dict[str, Any], inputs: list[AnyInput], stack: ExitStack) -> None:
        self.given = given
        self.inputs = inputs
        self.progress = ReadingBar(self.inputs)
        stack.callback(self.progress.close)
        if given["html"] is not None:
            keys = file_id(given["keylog"]) if given["keylog"] else None
            check_place("--html", given["html"], PAGE, [keys, *(each.id for each in inputs)])

    def run(self) -> int:
        """Show the inputs and return the exit status."""
        given = self.given
        events = AllEvents(self.inputs, input_options(given), self.progress.at if self.progress else None)
        following = JudgedTraffic(events, filter_of(given))
        settings = Settings({**given, "title": ", ".join(os.path.basename(each.name) for each in self.inputs)})
        settings.zero = following.zero
        if self.inputs[1:]:
            names = short_names(each.name for each in self.inputs)
            settings.file_of = lambda connection: names[events.name_of(connection)]
        view = asked_view(given)
        if view == "html":
            views.page(following, settings, given["html"])
        elif view:
            VIEWS[view](following, settings)
        else:
            (views.records if settings.json else views.annotated)(following, settings)
        sys.stdout.flush()
        self.progress.close()
        return self._end(events, following)

    def _end(self, events: AllEvents, following: JudgedTraffic) -> int:
        for remark in events.remarks:
            note(remark)
        if not following.packets and not events.faults:
            if not filter_of(self.given):
                raise click.UsageError("no MQTT packet was found")
            note("nothing that was picked was found")
        if events.faults:
            for fault in events.faults[:-1]:
                note(fault)
            raise click.UsageError(events.faults[-1])
        return 1 if following.errors else 0
