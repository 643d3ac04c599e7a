"""The plots of the page: SVG drawn by Vega-Lite, in colours that are variables of the page's style."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as Tree

from .markup import Markup, tag
from .words import cut

WIDE, NARROW = 920, 350
"""Widths of a plot in pixels, on a screen and on a phone."""
LONGEST = {WIDE: 300, NARROW: 180}
"""Width of a label in pixels, at most."""
LETTER = 7.2
"""Approximate width of a letter in pixels."""
ROOM = 13
"""Font size for the layout; the page shows 11, but fonts differ in width."""
_RANK = re.compile(r"\d+\. ")
_LONG = re.compile(r"(\d+\.\d\d?)\d+")
_IDLE = {"pointer-events", "font-family", "font-size", "font-weight", "stroke-miterlimit"}
"""Attributes that the page's style sets, or that are not needed."""
_USUAL = {("opacity", "1"), ("stroke-width", "1"), ("fill", "#000")}
SVG = "http://www.w3.org/2000/svg"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
"""Version of Vega-Lite; a newer library draws the same plot."""
Values = list[dict[str, Any]]


class Bar(NamedTuple):
    """A bar of a row, from `low` to `high`."""

    row: str
    low: float
    high: float
    hue: str
    about: str
    """Describes it."""


def stack(row: str, parts: Iterable[tuple[int, str, str]]) -> Iterator[Bar]:
    """Yield the bars of a row beside one another; a part is its length, its colour, and its description."""
    low = 0
    for part, hue, about in parts:
        if part:
            yield Bar(row, low, low + part, hue, about)
        low += part


class Cell(NamedTuple):
    """An interval of a row."""

    row: str
    begin_us: int
    end_us: int
    share: float
    """Its opacity, from 0 to 1."""
    about: str


class Range(NamedTuple):
    """A line of a row, with marks at three latencies in microseconds."""

    row: str
    low_us: int
    middle_us: int
    high_us: int
    hue: str
    about: str


class Point(NamedTuple):
    """A latency at a time, both in microseconds."""

    line: str
    """The line that it belongs to."""
    at_us: int
    latency_us: int
    hue: str
    strong: float
    """The opacity of the line, from 0 to 1."""
    about: str


class Plot(NamedTuple):
    """A plot to draw; the field `about` of a value describes its mark."""

    title: str
    values: Values
    layers: list[dict[str, Any]]
    height: int
    colors: Sequence[tuple[str, str]] = ()
    """Meanings and names."""


def drawn(plot: Plot) -> Markup:
    """Return a plot for screens and one for phones, of which the style shows one, with a legend."""
    import vl_convert

    keys = [tag("span", tag("i", class_=f"key {color}"), name, class_="meaning") for name, color in plot.colors]
    both = []
    for width, name in ((WIDE, "wide"), (NARROW, "narrow")):
        svg = vl_convert.vegalite_to_svg(json.dumps(_specified(plot, width)), vl_version=VERSION)
        both.append(tag("div", _plain(svg, plot.title, described=width == WIDE), class_=name))
    return tag("figure", tag("figcaption", plot.title, *([tag("span", *keys, class_="keys")] if keys else [])), *both)


def color(name: str) -> str:
    """Return a colour of the page's style."""
    return f"var(--{name})"


# kinds of plots


def stacked(title: str, series: Sequence[tuple[str, str]], rows: Iterable[tuple[int, int, str, Sequence[int]]]) -> Plot:
    """Return bars over time; a row is begin and end in microseconds, a description, and a value for each series."""
    values: Values = []
    for begin_us, end_us, about, parts in rows:
        described = ((part, hue, f"{about}: {part:,} {name}") for (name, hue), part in zip(series, parts, strict=True))
        values += [{**bar._asdict(), "x": begin_us / 1000, "to": end_us / 1000} for bar in stack("", described)]
    encoding = {**_time(), "y": _amount("high"), "y2": {"field": "low"}, "color": _hue(series)}
    return Plot(title, values, [{"mark": "rect", "encoding": encoding}], 200, series)


def lines(title: str, series: Sequence[tuple[str, str]], points: Iterable[Point]) -> Plot:
    """Return lines over time on a logarithmic axis of milliseconds."""
    values = [{**each._asdict(), "x": each.at_us / 1000, "y": _milliseconds(each.latency_us)} for each in points]
    encoding = {
        "x": _time()["x"], "y": _amount("y", type="log", title="ms"), "color": _hue(series),
        "detail": {"field": "line"}, "opacity": {"field": "strong", "type": "quantitative", "scale": None},
    }  # fmt: skip
    point = {"type": "point", "shape": "square", "filled": True, "size": 9}
    marks = [{"mark": each, "encoding": encoding} for each in ({"type": "line", "strokeWidth": 1.6}, point)]
    return Plot(title, values, marks, 200, series)


def ranges(title: str, found: Iterable[Range], colors: Sequence[tuple[str, str]]) -> Plot:
    """Return a line for each row on a logarithmic axis of milliseconds, with marks at its ends and in the middle."""
    values = [
        {**each._asdict(), "low": _milliseconds(each.low_us), "middle": _milliseconds(each.middle_us),
         "high": _milliseconds(each.high_us)}
        for each in found
    ]  # fmt: skip
    rows = {"y": _rows(), "color": _hue(colors)}
    layers: list[dict[str, Any]] = [{
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45},
        "encoding": {**rows, "x": _amount("low", type="log", title="ms"), "x2": {"field": "high"}},
    }]  # fmt: skip
    for field, size in (("low", 70), ("middle", 40), ("high", 70)):
        mark = {"type": "point", "filled": True, "size": size, "opacity": 1}
        layers.append({"mark": mark, "encoding": {**rows, "x": _amount(field, type="log", title="ms")}})
    return Plot(title, values, layers, _tall(values), colors)


def bars(title: str, found: Iterable[Bar], colors: Sequence[tuple[str, str]] = ()) -> Plot:
    """Return adjacent bars for each row."""
    values = [each._asdict() for each in found]
    encoding = {"y": _rows(), "x": _amount("low"), "x2": {"field": "high"}, "color": _hue(colors)}
    return Plot(title, values, [{"mark": {"type": "bar", "height": 13}, "encoding": encoding}], _tall(values), colors)


def heat(title: str, cells: Iterable[Cell], hue: str) -> Plot:
    """Return cells over time."""
    values = [{**each._asdict(), "x": each.begin_us / 1000, "to": each.end_us / 1000} for each in cells]
    encoding = {
        **_time(), "y": _rows(), "color": {"value": color(hue)},
        "opacity": {"field": "share", "type": "quantitative", "scale": None},
    }  # fmt: skip
    return Plot(title, values, [{"mark": {"type": "rect", "height": 15}, "encoding": encoding}], _tall(values))


def _milliseconds(us: int) -> float:
    """Return a latency for a logarithmic axis, which has no 0."""
    return max(us, 1) / 1000


def _tall(values: Values) -> int:
    return 22 * len({row["row"] for row in values}) + 40


def _time() -> dict[str, Any]:
    x = {"field": "x", "type": "temporal", "scale": {"type": "utc", "nice": False}, "title": None, "axis": {}}
    return {"x": x, "x2": {"field": "to"}}


def _amount(field: str, *, type: str = "linear", title: str | None = None) -> dict[str, Any]:
    axis = {"format": "~s" if type == "linear" else "~g", "tickCount": 5}
    return {"field": field, "type": "quantitative", "scale": {"type": type}, "title": title, "axis": axis}


def _rows() -> dict[str, Any]:
    axis = {"grid": False, "ticks": False, "domain": False, "labelPadding": 9}
    return {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": axis}


def _hue(colors: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the encoding of colour by the field `hue` of the values."""
    names = list(dict.fromkeys(hue for _, hue in colors)) or ["accent"]
    scale = {"domain": names, "range": [color(name) for name in names]}
    return {"field": "hue", "type": "nominal", "scale": scale, "legend": None}


def clock(span: float) -> str:
    """Return the format of times on an axis of a span in milliseconds."""
    second, hour, day = 1000, 3_600_000, 86_400_000
    if span < 10 * second:
        return "%M:%S.%L"
    return "%H:%M:%S" if span < hour else "%H:%M" if span < day else "%b %d, %H:%M" if span < 10 * day else "%Y-%m-%d"


def shortened(labels: Iterable[str], length: int) -> dict[str, str]:
    """Return shortened labels by their whole text, cut as near the middle as keeps most of them different."""
    whole = list(dict.fromkeys(labels))
    if all(len(each) <= length for each in whole):
        return {}
    tries = []
    for head in range(length):
        # The rank makes labels different, but says nothing about them.
        found = {each: _rank(each) + cut(each[len(_rank(each)) :], length - len(_rank(each)), head) for each in whole}
        different = len({each[len(_rank(each)) :] for each in found.values()})
        tries.append((-different, abs(head - length // 2), head, found))
    return min(tries, key=lambda each: each[:3])[3]


def _rank(label: str) -> str:
    found = _RANK.match(label)
    return found[0] if found else ""


# SVG


def _specified(plot: Plot, width: int) -> dict[str, Any]:
    about = {"description": {"field": "about", "type": "nominal"}}
    layers = [{**layer, "encoding": {**layer["encoding"], **about}} for layer in plot.layers]
    axis = {
        "gridColor": color("rule"), "domainColor": color("strong"), "tickColor": color("strong"), "labelOverlap": True,
        "labelFontSize": ROOM, "titleFontSize": ROOM, "labelLimit": LONGEST[width],
    }  # fmt: skip
    times = [row["x"] for row in plot.values if "x" in row]
    for layer in layers:
        if times and "x" in layer["encoding"]:
            layer["encoding"]["x"] = {**layer["encoding"]["x"], "axis": {"format": clock(max(times) - min(times))}}
    if short := shortened([row["row"] for row in plot.values if "row" in row], int(LONGEST[width] / LETTER)):
        for layer in layers:
            y = layer["encoding"]["y"]
            said = {"labelExpr": f"{json.dumps(short)}[datum.label]"}
            layer["encoding"]["y"] = {**y, "axis": {**y["axis"], **said}}
    return {
        "$schema": SCHEMA, "width": width, "height": plot.height, "autosize": {"type": "fit", "contains": "padding"},
        "padding": 2, "background": None, "data": {"values": plot.values}, "layer": layers,
        "config": {"axis": axis, "axisX": {"tickCount": width // 90}, "view": {"stroke": None}},
    }  # fmt: skip


def _plain(svg: str, title: str, *, described: bool) -> Markup:
    """Return an SVG without attributes that only scripts need; if `described`, its marks have tooltips."""
    Tree.register_namespace("", SVG)
    root = Tree.fromstring(svg)
    for each in root.iter():
        about = each.attrib.pop("aria-label", None)
        for name, value in list(each.attrib.items()):
            if name in _IDLE or name.startswith("aria-") or name in ("class", "role") or (name, value) in _USUAL:
                del each.attrib[name]
            elif name in ("d", "transform", "opacity"):
                each.attrib[name] = _LONG.sub(r"\1", value)
        if about and described and each.tag == f"{{{SVG}}}path":
            Tree.SubElement(each, f"{{{SVG}}}title").text = about
    _prune(root)
    size = {name: root.attrib[name] for name in ("viewBox", "width", "height")}
    root.attrib.clear()
    root.attrib.update({**size, "role": "img", "aria-label": title})
    return Markup(Tree.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii"))


def _prune(element: Tree.Element) -> None:
    """Remove elements that draw nothing."""
    for each in list(element):
        _prune(each)
        shown = each.get("display") != "none" and (each.get("d") or each.tag != f"{{{SVG}}}path")
        if not shown or (each.tag == f"{{{SVG}}}g" and not len(each)):
            element.remove(each)
