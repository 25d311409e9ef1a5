"""A query's newest answers as charts over time: one a column, one line a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from panelake.gold import END
from panelake.report import words
from panelake.report.answers import value_columns
from panelake.report.charts import SERIES_STYLES, Axes, Series, line_chart

MOST_WINDOWS = 120
MOST_CHARTS = 12
Group = tuple[Any, ...]


@dataclass(frozen=True)
class AnswerCharts:
    """The charts, and how many of the groups they show."""

    charts: tuple[Markup, ...]
    groups_shown: int
    groups: int
    windows: int


def answer_charts(rows: pa.Table, keys: Sequence[str]) -> AnswerCharts:
    """The newest windows of the first groups, from a query's newest rows."""
    places = _newest_places(rows)
    chosen = _groups(rows, keys, places[-1])
    shown = chosen[:SERIES_STYLES]
    charts = [_chart(rows, column, keys, shown, places) for column in value_columns(rows.schema, keys)[:MOST_CHARTS]]
    return AnswerCharts(tuple(chart for chart in charts if chart), len(shown), len(chosen), len(places))


def _ends(rows: pa.Table) -> list[int]:
    found: list[int] = rows[END].cast(pa.int64()).to_pylist()
    return found


def _newest_places(rows: pa.Table) -> list[int]:
    return sorted(set(_ends(rows)))[-MOST_WINDOWS:]


def _groups(rows: pa.Table, keys: Sequence[str], newest: int) -> list[Group]:
    """The groups of the newest window, in the order of their keys."""
    return list(
        dict.fromkeys(group for group, end in zip(_of_rows(rows, keys), _ends(rows), strict=True) if end == newest)
    )


def _of_rows(rows: pa.Table, keys: Sequence[str]) -> list[Group]:
    return list(zip(*(rows[key].to_pylist() for key in keys), strict=True)) if keys else [()] * rows.num_rows


def _chart(
    rows: pa.Table, column: str, keys: Sequence[str], groups: Sequence[Group], places: Sequence[int]
) -> Markup | None:
    numbers = pc.cast(rows[column], pa.float64(), safe=False).to_pylist()
    found = dict(zip(zip(_of_rows(rows, keys), _ends(rows), strict=True), numbers, strict=True))
    series = [Series(_name(group, column), [found.get((group, place)) for place in places]) for group in groups]
    timed = pa.types.is_timestamp(rows.schema.field(END).type)
    axes = Axes(timed=timed, from_zero=False)
    return line_chart(column, places, series, axes)


def _name(group: Group, column: str) -> str:
    return ", ".join(words.number(value) if value is not None else "NULL" for value in group) or column
