"""Panelake's own part of the windows benchmark: panes and windows of registered queries, as the stages run them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from panelake.aggregates import presence, states_of
from panelake.benchmarks.stream import HOUR_SECONDS, Stream
from panelake.language.parser import parse_query
from panelake.language.query import AggregateQuery
from panelake.planning.pane_set import PaneSet, key_column, key_expressions, window_spec
from panelake.planning.plan import Statistics, build_plan
from panelake.spark.slide import WindowTask
from panelake.stages.lowering import Lowered
from panelake.stages.panes import ROW, UNIT, aggregated, union
from panelake.stages.windows import answered

_COLUMNS = {"area_id": "int", "car_id": "int", "speed": "double", "ts": "timestamp"}
_SECOND = 1_000_000


def query(name: str, clause: str) -> AggregateQuery:
    """Count, sum, min and max of the speed by area over a window."""
    selected = "area_id, count(*) AS n, sum(speed) AS s, min(speed) AS a, max(speed) AS b"
    text = f"SELECT {selected} FROM traffic {clause} GROUP BY area_id"  # noqa: S608 - window SQL of our own
    return parse_query(name, f"{name}.sql", text, {"traffic": _COLUMNS})


def time_queries(shapes: Sequence[tuple[int, int]]) -> list[AggregateQuery]:
    """Queries over time, in seconds."""
    return [query(f"t{r}_{s}", f"[RANGE {r} SECONDS SLIDE {s} SECONDS]") for r, s in shapes]


def row_queries(shapes: Sequence[tuple[int, int]]) -> list[AggregateQuery]:
    """Queries over rows."""
    return [query(f"r{r}_{s}", f"[RANGE {r} SLIDE {s} WATTR ROW]") for r, s in shapes]


def windows(tuples: DataFrame, stream: Stream, queries: Sequence[AggregateQuery]) -> Lowered:
    """All windows of all queries over the stream, panes made on the way."""
    statistics = Statistics(stream.tuples / HOUR_SECONDS, {("`area_id`",): stream.groups}, measured=True)
    return planned_windows(tuples, stream, build_plan("traffic", queries, statistics).sets)


def planned_windows(tuples: DataFrame, stream: Stream, sets: Sequence[PaneSet]) -> Lowered:
    """All windows from given pane sets."""
    panes = union([aggregated(tuples, made, "ts") for made in sets])
    tasks = [_task(member, made, stream) for made in sets for member in made.queries]
    return answered(panes, tasks, [member for made in sets for member in made.queries])


def _task(member: AggregateQuery, made: PaneSet, stream: Stream) -> WindowTask:
    window = window_spec(member.window)
    if member.window.kind == "TS":
        due = window.ending_in(0, HOUR_SECONDS * _SECOND + window.range)
    else:
        due = range(max(0, (stream.tuples - window.range) // window.slide + 1))
    keys = tuple(key_column(expression) for expression in key_expressions(member))
    position = UNIT if member.window.kind == "TS" else ROW
    return WindowTask(
        member.name, made.name, position, keys, states_of(member), presence(member), window, due.start, due.stop
    )
