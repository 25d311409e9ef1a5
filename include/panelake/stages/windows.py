"""Windows: every window that the slice completes, and every answered one that its tuples change, into staging.

Late tuples and history change windows of slices already answered; those are answered again with the slice that
brought the tuples, so that gold stays a function of bronze, whatever the order of slices.

One Spark job a stream: panes are brought together by group, the sliding kernel combines them at a constant cost per
window, and Spark lowers the states to the queries' columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema

from panelake.aggregates import presence, states_of
from panelake.context import Context
from panelake.kernels.window_spec import WindowSpec
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.planning.pane_set import PaneSet, key_column, key_expressions, window_spec
from panelake.planning.plan import Plan
from panelake.slices import Slice
from panelake.spark.chunks import CHUNK
from panelake.spark.delta import arrow_schema
from panelake.spark.slide import CHANGED, END, QUERY, SET, START, WindowTask, slide_partition
from panelake.stages.chunking import chunk_column, in_chunks, reach_of
from panelake.stages.due import (
    Due,
    answered_slices,
    due_in_rows,
    due_in_time,
    remade_in_time,
)
from panelake.stages.known_slices import inside
from panelake.stages.lowering import Lowered, lower
from panelake.stages.overflow import overflow_refuses
from panelake.stages.pane_reader import Need, read_panes, sources
from panelake.stages.pane_sets import plan_of
from panelake.stages.panes import ROW, UNIT
from panelake.stages.registry import register_new
from panelake.stages.sketches import with_sketches
from panelake.stages.surroundings import Surroundings, changed_spans, surroundings
from panelake.staging import attempt_folder, fresh_attempt, staged_rows

CHUNKS_A_PARTITION = 4  # partitions are drawn by hash: of few chunks all would often be in one


def run(context: Context, part: Slice) -> list[Entry]:
    """Answer the windows of every stream that a query reads."""
    streams = [name for name in context.workspace.streams if context.workspace.queries_of(name)]
    return [entry for name in streams for entry in _stream_windows(context, name, part)]


def _stream_windows(context: Context, name: str, part: Slice) -> list[Entry]:
    queries = context.workspace.queries_of(name)
    changed = register_new(context, queries)
    current = [query for query in queries if query.name not in changed]
    refused = [_refused(part, query) for query in queries if query.name in changed]
    return (_answers(context, name, part, current) if current else []) + refused


def _answers(context: Context, name: str, part: Slice, queries: Sequence[AggregateQuery]) -> list[Entry]:
    around = surroundings(context, name, part, queries)
    plan = plan_of(context, name)
    sets = [made for made in (_of(made, queries) for made in plan.sets) if made.queries]
    due = _due(context, name, part, queries, around)
    tasks = [task for made in sets for query in made.queries for task in _tasks(query, made, due[query.name])]
    found = [sources(_need(made, tasks), around.known, around.panes, name, part) for made in sets]
    changed = [one.slice for one in inside(around.known, part)] if any(task.changed_only for task in tasks) else []
    tasks = in_chunks(tasks, sets, _chunks_wanted(context, plan))
    answers = answered(read_panes(context, name, found, changed), tasks, queries, part)
    attempt = fresh_attempt(context.catalog.staging(name, part))
    folder = attempt_folder(context.catalog.staging(name, part), attempt)
    with overflow_refuses(name, part):
        answers.frame.write.mode("overwrite").partitionBy(QUERY).parquet(folder)
    told = {query: columns | attempt for query, columns in _told_columns(answers).items()}
    return [_entry(part, one, due[one.name], staged_rows(folder, one.name), told[one.name]) for one in queries]


def _of(made: PaneSet, queries: Sequence[AggregateQuery]) -> PaneSet:
    """The set as the queries read it: its cuts, and their states alone."""
    return replace(made, queries=tuple(query for query in made.queries if query in queries))


def _refused(part: Slice, query: AggregateQuery) -> Entry:
    why = f"{query.file} changed its meaning since its gold was made; run panelake restate --query {query.name}"
    details = {"why": why, "due": 0, "ends": [], "types": {}}
    return Entry(part, "windows", query.name, "refused", 0, details=details)


def _told_columns(answers: Lowered) -> dict[str, dict[str, Any]]:
    """Of each query's columns their types, and what they are called in the staged files."""
    types = {field.name: field.dataType.simpleString() for field in answers.frame.schema}
    return {
        query: {"types": {name: types[held] for name, held in columns.items()}, "columns": dict(columns)}
        for query, columns in answers.columns.items()
    }


def _entry(part: Slice, query: AggregateQuery, due: Due, rows: int, told: Mapping[str, Any]) -> Entry:
    """How many windows were due for every group, from which end to which; and the ends of those restated in part."""
    window = window_spec(query.window)
    details = {"due": len(due.whole), "ends": _ends(window, due.whole), **told}
    touched = [_ends(window, ks) for ks in due.touched]
    details |= {"restated": touched} if touched else {}
    return Entry(part, "windows", query.name, "done", rows, details=details)


def _ends(window: WindowSpec, ks: range) -> list[int]:
    """Where the first and the last of the windows end."""
    return [window.end(ks[0]), window.end(ks[-1])] if ks else []


def _due(
    context: Context, name: str, part: Slice, queries: Sequence[AggregateQuery], around: Surroundings
) -> dict[str, Due]:
    """Each query's due windows."""
    remade = around.remade
    spans = [] if remade else changed_spans(context, name, part, around.known, queries)
    due = {}
    for query in queries:
        window, answered = window_spec(query.window), answered_slices(around.published, query.name)
        if query.window.kind == "ROW":
            due[query.name] = due_in_rows(window, around.known, part)
        elif remade:
            due[query.name] = remade_in_time(window, remade, answered)
        else:
            due[query.name] = due_in_time(window, part, spans, answered)
    return due


def _tasks(query: AggregateQuery, made: PaneSet, due: Due) -> list[WindowTask]:
    position = UNIT if query.window.kind == "TS" else ROW
    keys = tuple(key_column(expression) for expression in key_expressions(query))
    window, whole = window_spec(query.window), due.whole
    task = WindowTask(
        query.name, made.name, position, keys, states_of(query), presence(query), window, whole.start, whole.stop
    )
    return [task, *(replace(task, first=ks.start, last=ks.stop, changed_only=True) for ks in due.touched)]


def _need(made: PaneSet, tasks: Sequence[WindowTask]) -> Need:
    mine = [task for task in tasks if task.pane_set == made.name and task.first < task.last]
    whole, touched = ([task for task in mine if task.changed_only is asked] for asked in (False, True))
    return Need(made, reach_of(whole, UNIT), reach_of(whole, ROW), reach_of(touched, UNIT))


def answered(
    panes: DataFrame, tasks: Sequence[WindowTask], queries: Sequence[AggregateQuery], part: Slice | None = None
) -> Lowered:
    """All queries' window rows; for what `part` is, see `lower`."""
    keys = sorted({key for task in tasks for key in task.keys})
    states = sorted({state.column for task in tasks for state in task.states if state.fold != "sketch"})
    axes = [name for name in (UNIT, ROW) if any(task.position == name for task in tasks)]
    changed = [CHANGED] if any(task.changed_only for task in tasks) else []
    # What is the same in every row is not sent along: half of a short row would be that.
    parts = [F.col(SET)] if len({task.pane_set for task in tasks}) > 1 else []
    parts += [chunk_column(tasks).alias(CHUNK)] if any(task.chunks for task in tasks) else []
    columns = panes.select(*parts, *axes, *keys, *states, *changed)
    schema = _window_schema(arrow_schema(columns), [*keys, *states])
    # A Python worker imports the function's own module: this one would bring all of pyspark's client with it.
    slide = partial(slide_partition, tasks=tuple(tasks), schema=schema)
    by = [name for name in (SET, CHUNK, *keys) if name in columns.columns]
    spread = columns.repartition(*by) if by else columns.coalesce(1)
    windows = with_sketches(spread.mapInArrow(slide, from_arrow_schema(schema)), panes, tasks)
    types = {field.name: field.dataType.simpleString() for field in columns.schema}
    restated = {task.query: part for task in tasks if task.changed_only and part}
    return lower(windows, queries, types, restated)


def _chunks_wanted(context: Context, plan: Plan) -> Callable[[PaneSet], int]:
    """Of each set so many chunks that every partition of a shuffle, about one a core, has some."""
    partitions = int(context.spark.conf.get("spark.sql.shuffle.partitions", "1"))
    return lambda made: CHUNKS_A_PARTITION * partitions // plan.statistics.groups_of(made.keys)


def _window_schema(panes: pa.Schema, carried: list[str]) -> pa.Schema:
    place = [(QUERY, pa.string()), (START, pa.int64()), (END, pa.int64())]
    return pa.schema([*place, *(panes.field(name) for name in carried)])
