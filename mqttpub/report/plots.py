"""The plots of the page: SVG drawn by Vega-Lite, in colours that are variables of the page's style."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as Tree

from .markup import Markup, tag
from .sql import bins_of
from .words import cut

WIDE, NARROW = 920, 350
"""Widths of a plot in pixels, on a screen and on a phone."""
LONGEST = {WIDE: 400, NARROW: 180}
"""Width of a label in pixels, at most."""
LETTER = 7.2
"""Approximate width of a letter in pixels."""
ROOM = 13
"""Font size for the layout; the page shows 11, but fonts differ in width."""
_RANK = re.compile(r"\d+\. ")
_WHOLE_LEVELS = re.compile("(^|/)\u2026/")
_LONG = re.compile(r"(\d+\.\d\d?)\d+")
_IDLE = {"pointer-events", "font-family", "font-size", "font-weight", "stroke-miterlimit"}
"""Attributes that the page's style sets, or that are not needed."""
_USUAL = {("opacity", "1"), ("stroke-width", "1"), ("fill", "#000")}
SVG = "http://www.w3.org/2000/svg"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
"""Version of Vega-Lite; a newer library draws the same plot."""
TICK = 90
"""Pixels between two ticks, at least."""
LEAST_TICK_US = 1000
"""Labels of times have milliseconds."""
Values = list[dict[str, Any]]
Period = tuple[int, int]
"""Begin and end in microseconds since 1970."""


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
    period: Period | None = None
    """The times on its axis."""


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


def stacked(
    title: str, series: Sequence[tuple[str, str]], rows: Iterable[tuple[int, int, str, Sequence[int]]], period: Period
) -> Plot:
    """Return bars over time; a row is begin and end in microseconds, a description, and a value for each series."""
    values: Values = []
    for begin_us, end_us, about, parts in rows:
        described = ((part, hue, f"{about}: {part:,} {name}") for (name, hue), part in zip(series, parts, strict=True))
        values += [{**bar._asdict(), "x": begin_us / 1000, "to": end_us / 1000} for bar in stack("", described)]
    encoding = {**_time(), "y": _amount("high", _most(values)), "y2": {"field": "low"}, "color": _hue(series)}
    return Plot(title, values, [{"mark": "rect", "encoding": encoding}], 200, series, period)


def lines(title: str, series: Sequence[tuple[str, str]], points: Iterable[Point], period: Period) -> Plot:
    """Return lines over time on a logarithmic axis of milliseconds."""
    values = [{**each._asdict(), "x": each.at_us / 1000, "y": _milliseconds(each.latency_us)} for each in points]
    encoding = {
        "x": _time()["x"], "y": _latency("y"), "color": _hue(series),
        "detail": {"field": "line"}, "opacity": {"field": "strong", "type": "quantitative", "scale": None},
    }  # fmt: skip
    point = {"type": "point", "shape": "square", "filled": True, "size": 9}
    marks = [{"mark": each, "encoding": encoding} for each in ({"type": "line", "strokeWidth": 1.6}, point)]
    return Plot(title, values, marks, 200, series, period)


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
        "encoding": {**rows, "x": _latency("low"), "x2": {"field": "high"}},
    }]  # fmt: skip
    for field, size in (("low", 70), ("middle", 40), ("high", 70)):
        mark = {"type": "point", "filled": True, "size": size, "opacity": 1}
        layers.append({"mark": mark, "encoding": {**rows, "x": _latency(field)}})
    return Plot(title, values, layers, _tall(values), colors)


def bars(title: str, found: Iterable[Bar], colors: Sequence[tuple[str, str]] = ()) -> Plot:
    """Return adjacent bars for each row."""
    values = [each._asdict() for each in found]
    encoding = {"y": _rows(), "x": _amount("low", _most(values)), "x2": {"field": "high"}, "color": _hue(colors)}
    return Plot(title, values, [{"mark": {"type": "bar", "height": 13}, "encoding": encoding}], _tall(values), colors)


def heat(title: str, cells: Iterable[Cell], hue: str, period: Period) -> Plot:
    """Return cells over time."""
    values = [{**each._asdict(), "x": each.begin_us / 1000, "to": each.end_us / 1000} for each in cells]
    encoding = {
        **_time(), "y": _rows(), "color": {"value": color(hue)},
        "opacity": {"field": "share", "type": "quantitative", "scale": None},
    }  # fmt: skip
    mark = {"type": "rect", "height": 15}
    return Plot(title, values, [{"mark": mark, "encoding": encoding}], _tall(values), period=period)


def _milliseconds(us: int) -> float:
    """Return a latency for a logarithmic axis, which has no 0."""
    return max(us, 1) / 1000


def _most(values: Values) -> float:
    return max((row["high"] for row in values), default=0)


def _tall(values: Values) -> int:
    return 22 * len({row["row"] for row in values}) + 40


def _time() -> dict[str, Any]:
    return {"x": {"field": "x", "type": "quantitative", "title": None}, "x2": {"field": "to"}}


def _amount(field: str, most: float) -> dict[str, Any]:
    """Return an axis of whole numbers up to `most`."""
    # With one format for all ticks, 0 would be 0k.
    labels = "datum.value < 1000 ? datum.label : format(datum.value, '~s')"
    axis = {"tickCount": max(1, min(5, int(most))), "labelExpr": labels}
    return {"field": field, "type": "quantitative", "title": None, "axis": axis}


def _latency(field: str) -> dict[str, Any]:
    """Return a logarithmic axis of milliseconds."""
    axis = {"tickCount": 5, "format": ",~g"}
    return {"field": field, "type": "quantitative", "scale": {"type": "log"}, "title": "ms", "axis": axis}


def _rows() -> dict[str, Any]:
    axis = {"grid": False, "ticks": False, "domain": False, "labelPadding": 9}
    return {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": axis}


def _hue(colors: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the encoding of colour by the field `hue` of the values."""
    names = list(dict.fromkeys(hue for _, hue in colors)) or ["accent"]
    scale = {"domain": names, "range": [color(name) for name in names]}
    return {"field": "hue", "type": "nominal", "scale": scale, "legend": None}


def clock(tick_us: int, span_us: int) -> str:
    """Return the format of times on an axis, whose ticks are so far apart."""
    second, minute, day = 1_000_000, 60_000_000, 86_400_000_000
    if tick_us < second:
        return "%M:%S.%L"
    if tick_us < minute:
        return "%H:%M:%S"
    return "%Y-%m-%d" if tick_us >= day else "%b %d, %H:%M" if span_us > day else "%H:%M"


def time_axis(period: Period, width: int) -> dict[str, Any]:
    """Return what the axis of times is, in a plot of some pixels.

    It is one of numbers, as Vega draws only one tick in each second of an axis of times.
    """
    begin, end = period
    ticks = bins_of(begin, end, width // TICK, LEAST_TICK_US)
    assert ticks, "the period has times"
    at = [ticks.begin(number) / 1000 for number in ticks.numbers() if begin <= ticks.begin(number) <= end]
    labels = f"utcFormat(datum.value, '{clock(ticks.width, end - begin)}')"
    scale = {"zero": False, "nice": False, "domain": [begin / 1000, end / 1000]}
    return {"scale": scale, "axis": {"values": at, "labelExpr": labels}}


def shortened(labels: Iterable[str], length: int) -> dict[str, str]:
    """Return shortened labels by their whole text, cut as near the middle as keeps most of them different.

    Of topics whole levels are left out where they stay different.
    """
    whole = list(dict.fromkeys(labels))
    if all(len(each) <= length for each in whole):
        return {}
    tries = []
    for head in range(length):
        # The rank makes labels different, but says nothing about them.
        texts = [(_rank(each), each[len(_rank(each)) :]) for each in whole]
        found, broken = _cut([(text, length - len(rank)) for rank, text in texts], head)
        named = {each: rank + short for each, (rank, _), short in zip(whole, texts, found, strict=True)}
        tries.append((-len(set(found)), broken, abs(head - length // 2), head, named))
    return min(tries, key=lambda each: each[:4])[4]


def _cut(texts: Sequence[tuple[str, int]], head: int) -> tuple[list[str], int]:
    """Return texts, each cut to a length after `head` characters, and how many are cut within a level of a topic."""
    short = [cut(text, length, head) for text, length in texts]
    tidy = [_at_levels(each) if "/" in text else each for each, (text, _) in zip(short, texts, strict=True)]
    alike = Counter(tidy)
    found = [level if alike[level] == 1 else each for level, each in zip(tidy, short, strict=True)]
    cuts = (each for each, (text, _) in zip(found, texts, strict=True) if each != text and "/" in text)
    return found, sum(not _WHOLE_LEVELS.search(each) for each in cuts)


def _at_levels(short: str) -> str:
    """Return a topic that was cut without the parts of levels beside the cut."""
    before, mark, after = short.partition("\u2026")
    return before[: before.rfind("/") + 1] + mark + after[after.find("/") :] if mark and "/" in after else short


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
    if plot.period:
        for layer in layers:
            layer["encoding"]["x"] = {**layer["encoding"]["x"], **time_axis(plot.period, width)}
    if short := shortened([row["row"] for row in plot.values if "row" in row], int(LONGEST[width] / LETTER)):
        for layer in layers:
            y = layer["encoding"]["y"]
            said = {"labelExpr": f"{json.dumps(short)}[datum.label]"}
            layer["encoding"]["y"] = {**y, "axis": {**y["axis"], **said}}
    return {
        "$schema": SCHEMA, "width": width, "height": plot.height, "autosize": {"type": "fit", "contains": "padding"},
        "padding": 2, "background": None, "data": {"values": plot.values}, "layer": layers,
        "config": {"axis": axis, "view": {"stroke": None}},
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
