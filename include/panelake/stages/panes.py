"""Panes: each accepted tuple of the slice is aggregated once per pane set, in Spark's own generated code.

Panes are keyed by (slice, set, group keys, time pane, row pane) and combined when read: no slice continues another's
pane, so each can be redone alone. The ledger entry tells which states of which sets a slice holds.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.ledger import Entry
from panelake.planning.pane_set import PaneSet, key_column
from panelake.slices import Slice
from panelake.spark.balanced import balanced
from panelake.spark.delta import read_slices, replace_counted
from panelake.spark.slide import SET
from panelake.stages.known_slices import Ingested, ingested_slices, inside
from panelake.stages.overflow import overflow_refuses
from panelake.stages.pane_sets import measure, plan_of
from panelake.stages.query_filters import Orders, learned_orders

UNIT, ROW = "_unit", "_row"
STATE, TUPLES = "_state", "_tuples"
_RUN = "_run"


def run(context: Context, part: Slice) -> list[Entry]:
    """Aggregate the slice of every stream that a query reads."""
    streams = [name for name in context.workspace.streams if context.workspace.queries_of(name)]
    return [_stream_panes(context, name, part) for name in streams]


def _stream_panes(context: Context, name: str, part: Slice) -> Entry:
    """Panes of the slice, or of each that a longer one covers: every pane belongs to the slice of its tuples."""
    known = inside(ingested_slices(context.ledger.entries(stage="ingest", subject=name), name), part)
    if [one.slice for one in known] == [part]:
        return _slice_panes(context, name, known[0])
    entries = []
    for one in known:
        entries.append(_slice_panes(context, name, one))
        context.ledger.record(entries[-1:])
    return Entry(part, "panes", name, "done", sum(entry.rows for entry in entries), details={"slices": len(entries)})


def _slice_panes(context: Context, name: str, known: Ingested) -> Entry:
    part = known.slice
    tuples = read_slices(context.spark, context.catalog.bronze(name), part.start, part.start + 1)
    measure(context, name, tuples, part)
    sets = [made for made in plan_of(context, name).sets if made.stored]
    orders = learned_orders(context, name, known, tuples)
    frames = [stored_panes(tuples, made, context.workspace.streams[name].event_time, orders) for made in sets]
    with overflow_refuses(name, part):
        rows = replace_counted(union(frames), context.catalog.panes(name), part) if frames else 0
    held = {made.name: [state.column for state in made.states] for made in sets}
    return Entry(part, "panes", name, "done", rows, details={"sets": held, "of": known.token})


def union(frames: list[DataFrame]) -> DataFrame:
    """All rows; a column that a frame lacks is NULL in its rows."""
    return balanced(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def aggregated(
    tuples: DataFrame, pane_set: PaneSet, event_time: str, *beside: Column, orders: Orders | None = None
) -> DataFrame:
    """One row per group and pane: `_set`, key columns, `_unit` and `_row` (where its panes begin), state columns.

    Columns given beside are grouped by as well. Conditions are evaluated in the order that `orders` has for them, else
    as written: the panes are the same.
    """
    told = orders or {}
    keys = [F.expr(expression).alias(key_column(expression)) for expression in pane_set.keys]
    states = [F.expr(state.lift(told.get(state.conditions))).alias(state.column) for state in pane_set.states]
    counted = F.count(F.lit(1)).alias(TUPLES)
    runs = [F.expr(f"`_seq` DIV {pane_set.run}").alias(_RUN)] if pane_set.run else []
    panes = tuples.groupBy(*keys, *_places(pane_set, event_time), *runs, *beside).agg(counted, *states)
    return panes.drop(_RUN).withColumn(SET, F.lit(pane_set.name))


def _places(pane_set: PaneSet, event_time: str) -> list[Column]:
    places = []
    if pane_set.time:
        places.append(F.expr(pane_set.time.sql(f"unix_micros(`{event_time}`)")).alias(UNIT))
    if pane_set.rows:
        places.append(F.expr(pane_set.rows.sql("`_seq`")).alias(ROW))
    return places


def stored_panes(tuples: DataFrame, pane_set: PaneSet, event_time: str, orders: Orders | None = None) -> DataFrame:
    """The slice's panes with `_state`: C where a row pane is whole in one fragment of the slice, I where it was cut."""
    panes = aggregated(tuples, pane_set, event_time, orders=orders)
    return panes.withColumn(STATE, _state(pane_set)) if pane_set.rows else panes


def _state(pane_set: PaneSet) -> Column:
    if pane_set.rows is None:
        raise ValueError(f"pane set {pane_set.name} has no panes of rows")
    pane = Window.partitionBy(ROW)
    whole = F.sum(TUPLES).over(pane) == F.expr(pane_set.rows.next_sql(f"`{ROW}`")) - F.col(ROW)
    one_unit = F.min(UNIT).over(pane) == F.max(UNIT).over(pane) if pane_set.time else F.lit(True)  # noqa: FBT003
    return F.when(whole & one_unit, "C").otherwise("I")
