"""Line charts: their numbers as JSON, which the page's script draws, and the same numbers as a table.

The table is there for readers who do not see the chart or run no script; what the chart says where one points is read
from it, so that every number is put into words in one place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from panelake.report import words
from panelake.report.embedded import embedded_json
from panelake.report.templating import render

SERIES_STYLES = 7  # colours that readers of any colour vision tell apart, each with a dash of its own
_MILLISECOND = 1_000
Unit = Literal["number", "seconds", "share", "rank"]
_SAID: dict[Unit, Callable[[float], str]] = {
    "number": words.number,
    "seconds": words.seconds,
    "share": words.share,
    "rank": lambda value: f"place {value:.0f}",
}


@dataclass(frozen=True)
class Series:
    """One line; a value that is not there breaks it."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Axes:
    """How a chart's numbers are read: places are instants or numbers, values have a unit."""

    unit: Unit = "number"
    timed: bool = True
    from_zero: bool = True


@dataclass(frozen=True)
class TableRow:
    """A place in words, and the value of every series there."""

    label: str
    values: tuple[str, ...]


def line_chart(title: str, places: Sequence[int], series: Sequence[Series], axes: Axes | None = None) -> Markup | None:
    """The chart, at most SERIES_STYLES lines of it; None where there is nothing to draw."""
    axes = axes or Axes()
    finite = (Series(line.name, [_finite(value) for value in line.values]) for line in series)
    known = [line for line in finite if any(value is not None for value in line.values)]
    if not known:
        return None
    drawn = known[:SERIES_STYLES]
    if len(known) > len(drawn):
        title = f"{title} (the first {len(drawn)} of {len(known):,})"
    numbers = embedded_json(_numbers(places, drawn, axes))
    names = [line.name for line in drawn]
    return render("chart.html", title=title, names=names, numbers=numbers, rows=_rows(places, drawn, axes))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _numbers(places: Sequence[int], series: Sequence[Series], axes: Axes) -> dict[str, Any]:
    """What the script draws; instants as the milliseconds it counts in."""
    return {
        "places": [place / _MILLISECOND for place in places] if axes.timed else list(places),
        "timed": axes.timed,
        "unit": axes.unit,
        "fromZero": axes.from_zero,
        "series": [list(line.values) for line in series],
    }


def _rows(places: Sequence[int], series: Sequence[Series], axes: Axes) -> list[TableRow]:
    label = words.instant if axes.timed else words.number
    return [
        TableRow(label(place), tuple(_said(line.values[index], axes.unit) for line in series))
        for index, place in enumerate(places)
    ]


def _said(value: float | None, unit: Unit) -> str:
    return words.NOTHING if value is None else _SAID[unit](value)
