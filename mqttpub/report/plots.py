"""The plots of the page, as SVG drawn by Vega; their colours are variables of the page's style."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as Tree

from .markup import Markup, tag
from .words import cut

WIDE, NARROW = 920, 350
"""Pixels of a plot on a screen, and on a phone."""
LONGEST = {WIDE: 300, NARROW: 180}
"""Pixels of a label."""
LETTER = 7.2
"""Pixels of a letter of that size, about."""
ROOM = 13
"""Size of the type for which room is left; what shows it is 11 high, but fonts differ in width."""
_RANK = re.compile(r"\d+\. ")
_LONG = re.compile(r"(\d+\.\d\d?)\d+")
_IDLE = {"pointer-events", "font-family", "font-size", "font-weight", "stroke-miterlimit"}
"""Attributes that the style of the page says, or nobody needs."""
_USUAL = {("opacity", "1"), ("stroke-width", "1"), ("fill", "#000")}
SVG = "http://www.w3.org/2000/svg"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VERSION = "6.4"
"""Of Vega-Lite; a newer library draws it the same."""
Values = list[dict[str, Any]]


class Plot(NamedTuple):
    """What is to be drawn: what a mark stands for is in the field `about` of its values."""

    title: str
    values: Values
    layers: list[dict[str, Any]]
    height: int
    colors: Sequence[tuple[str, str]] = ()
    """What they stand for, and the name of each."""


def drawn(plot: Plot) -> Markup:
    """Return a plot for screens and one for phones, of which the style shows one, and what its colours mean."""
    import vl_convert

    keys = [tag("span", tag("i", class_=f"key {color}"), name, class_="meaning") for name, color in plot.colors]
    both = []
    for width, name in ((WIDE, "wide"), (NARROW, "narrow")):
        svg = vl_convert.vegalite_to_svg(json.dumps(_specified(plot, width)), vl_version=VERSION)
        both.append(tag("div", _plain(svg, plot.title, told=width == WIDE), class_=name))
    return tag("figure", tag("figcaption", plot.title, *([tag("span", *keys, class_="keys")] if keys else [])), *both)


def color(name: str) -> str:
    """Return a colour of the page's style."""
    return f"var(--{name})"


# kinds of plots


def stacked(
    title: str, series: Sequence[tuple[str, str]], rows: Iterable[tuple[int, int, str, Sequence[float]]]
) -> Plot:
    """Return bars over time; a row has begin and end in milliseconds, what it is about, and a value for each series."""
    values = []
    for begin, end, about, parts in rows:
        low = 0.0
        for (name, hue), part in zip(series, parts, strict=True):
            if part:
                about_part = f"{about}: {part:,} {name}"
                values.append({"x": begin, "to": end, "low": low, "high": low + part, "hue": hue, "about": about_part})
            low += part
    encoding = {**_time(), "y": _amount("high"), "y2": {"field": "low"}, "color": _hue(series)}
    return Plot(title, values, [{"mark": "rect", "encoding": encoding}], 200, series)


def lines(title: str, series: Sequence[tuple[str, str]], values: Values) -> Plot:
    """Return lines over time on a logarithmic axis of milliseconds; a value has the name of its `line`, and how
    `strong` that is, from 0 to 1."""
    encoding = {
        "x": _time()["x"], "y": _amount("y", type="log", title="ms"), "color": _hue(series),
        "detail": {"field": "line"}, "opacity": {"field": "strong", "type": "quantitative", "scale": None},
    }  # fmt: skip
    point = {"type": "point", "shape": "square", "filled": True, "size": 9}
    marks = [{"mark": each, "encoding": encoding} for each in ({"type": "line", "strokeWidth": 1.6}, point)]
    return Plot(title, values, marks, 200, series)


def ranges(title: str, values: Values, colors: Sequence[tuple[str, str]]) -> Plot:
    """Return for each row a line from `low` to `high`, in milliseconds, with marks at its ends and at `middle`."""
    rows = {"y": _rows(), "color": _hue(colors)}
    layers: list[dict[str, Any]] = [{
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45},
        "encoding": {**rows, "x": _amount("low", type="log", title="ms"), "x2": {"field": "high"}},
    }]  # fmt: skip
    for field, size in (("low", 70), ("middle", 40), ("high", 70)):
        mark = {"type": "point", "filled": True, "size": size, "opacity": 1}
        layers.append({"mark": mark, "encoding": {**rows, "x": _amount(field, type="log", title="ms")}})
    return Plot(title, values, layers, _tall(values), colors)


def bars(title: str, values: Values, colors: Sequence[tuple[str, str]] = ()) -> Plot:
    """Return for each row bars side by side: from `low` to `high`."""
    encoding = {"y": _rows(), "x": _amount("low"), "x2": {"field": "high"}, "color": _hue(colors)}
    return Plot(title, values, [{"mark": {"type": "bar", "height": 13}, "encoding": encoding}], _tall(values), colors)


def heat(title: str, values: Values, hue: str) -> Plot:
    """Return cells over time, the darker the higher their `share`, from 0 to 1."""
    encoding = {
        **_time(), "y": _rows(), "color": {"value": color(hue)},
        "opacity": {"field": "share", "type": "quantitative", "scale": None},
    }  # fmt: skip
    return Plot(title, values, [{"mark": {"type": "rect", "height": 15}, "encoding": encoding}], _tall(values))


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
    """Return the encoding of a colour that each value names itself."""
    names = list(dict.fromkeys(hue for _, hue in colors)) or ["accent"]
    scale = {"domain": names, "range": [color(name) for name in names]}
    return {"field": "hue", "type": "nominal", "scale": scale, "legend": None}


def clock(span: float) -> str:
    """Return how times are written on an axis that spans so many milliseconds."""
    second, hour, day = 1000, 3_600_000, 86_400_000
    if span < 10 * second:
        return "%M:%S.%L"
    return "%H:%M:%S" if span < hour else "%H:%M" if span < day else "%b %d, %H:%M" if span < 10 * day else "%Y-%m-%d"


def shortened(labels: Iterable[str], length: int) -> dict[str, str]:
    """Return labels cut in the middle, where most of them stay different, and as near to half as that allows."""
    whole = list(dict.fromkeys(labels))
    if all(len(each) <= length for each in whole):
        return {}
    tries = []
    for head in range(length):
        # A rank tells labels apart, but not what they are about.
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


def _plain(svg: str, title: str, *, told: bool) -> Markup:
    """Return an SVG without what only scripts need; what its marks stand for is `told` to who points at them."""
    Tree.register_namespace("", SVG)
    root = Tree.fromstring(svg)
    for each in root.iter():
        about = each.attrib.pop("aria-label", None)
        for name, value in list(each.attrib.items()):
            if name in _IDLE or name.startswith("aria-") or name in ("class", "role") or (name, value) in _USUAL:
                del each.attrib[name]
            elif name in ("d", "transform", "opacity"):
                each.attrib[name] = _LONG.sub(r"\1", value)
        if about and told and each.tag == f"{{{SVG}}}path":
            Tree.SubElement(each, f"{{{SVG}}}title").text = about
    _prune(root)
    size = {name: root.attrib[name] for name in ("viewBox", "width", "height")}
    root.attrib.clear()
    root.attrib.update({**size, "role": "img", "aria-label": title})
    return Markup(Tree.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii"))


def _prune(element: Tree.Element) -> None:
    """Take away what shows nothing."""
    for each in list(element):
        _prune(each)
        shown = each.get("display") != "none" and (each.get("d") or each.tag != f"{{{SVG}}}path")
        if not shown or (each.tag == f"{{{SVG}}}g" and not len(each)):
            element.remove(each)
