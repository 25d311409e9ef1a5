"""Line charts as inline SVG: no script, no network, colours and text size left to the page's style.

The drawing stretches to the page's width while labels, being HTML beside it, keep their size; so it reads on a phone.
Every chart also holds its numbers as a table, for readers who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from markupsafe import Markup

from panelake.report import words
from panelake.report.scales import Scale, Step, place_scale, round_step, value_scale
from panelake.report.templating import render

WIDTH, HEIGHT = 1000, 200
SERIES_STYLES = 7  # colours that readers of any colour vision tell apart, each with a dash of its own
Format = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """One line; a value that is not there breaks it."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Axes:
    """How a chart's numbers are read: labels of places, values and ticks."""

    place: Callable[[int], str] = words.instant
    value: Format = words.number
    tick: Format = words.short_number
    step: Step = round_step
    from_zero: bool = True


@dataclass(frozen=True)
class Band:
    """What the chart says where one points: a place and the value of every series there."""

    x: float
    width: float
    label: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One drawn series as SVG paths: its strokes, and its points that stand alone."""

    name: str
    style: int
    path: str
    dots: str


def line_chart(title: str, places: Sequence[int], series: Sequence[Series], axes: Axes | None = None) -> Markup | None:
    """The chart, at most SERIES_STYLES lines of it; None where there is nothing to draw."""
    axes = axes or Axes()
    drawn = [Series(line.name, [_finite(value) for value in line.values]) for line in series[:SERIES_STYLES]]
    known = [value for line in drawn for value in line.values if value is not None]
    if not known:
        return None
    across, up = place_scale(places), value_scale(known, from_zero=axes.from_zero, round_up=axes.step)
    lines = [Line(line.name, style, *_paths(line, places, across, up)) for style, line in enumerate(drawn)]
    ticks = [(axes.tick(tick), 100 * (1 - up.place(tick))) for tick in up.ticks]
    if len(series) > len(drawn):
        title = f"{title} (the first {len(drawn)} of {len(series):,})"
    ends = (axes.place(places[0]), axes.place(places[-1]))
    bands = _bands(places, drawn, across, axes)
    return render("chart.html", title=title, lines=lines, ticks=ticks, ends=ends, bands=bands, size=(WIDTH, HEIGHT))


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _paths(line: Series, places: Sequence[int], across: Scale, up: Scale) -> tuple[str, str]:
    """Strokes through points that follow each other, and points alone, which are drawn by their round ends."""
    strokes, dots = "", ""
    for known, points in groupby(zip(places, line.values, strict=True), key=lambda point: point[1] is not None):
        drawn = [_point(place, value or 0.0, across, up) for place, value in points] if known else []
        if len(drawn) > 1:
            strokes += f"M{'L'.join(drawn)}"
        elif drawn:
            dots += f"M{drawn[0]}h0"
    return strokes, dots


def _point(place: int, value: float, across: Scale, up: Scale) -> str:
    return f"{WIDTH * across.place(place):.1f} {HEIGHT * (1 - up.place(value)):.1f}"


def _bands(places: Sequence[int], series: Sequence[Series], across: Scale, axes: Axes) -> list[Band]:
    centres = [WIDTH * across.place(place) for place in places]
    edges = [0.0, *((one + other) / 2 for one, other in pairwise(centres)), float(WIDTH)]
    bands = []
    for index, place in enumerate(places):
        values = tuple(_said(line.values[index], axes.value) for line in series)
        bands.append(Band(edges[index], edges[index + 1] - edges[index], axes.place(place), values))
    return bands


def _said(value: float | None, say: Format) -> str:
    return words.NOTHING if value is None else say(value)
