"""Rules of panes: what the slice's panes hold in all is what its tuples hold in all.

Totals are taken from the tuples themselves, not through the panes' own expressions. A window's panes of earlier
slices were checked with their slices, so each slice costs one pass over its own tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.aggregates import State, presence, states_of
from panelake.language.query import AggregateQuery
from panelake.planning.pane_set import PaneSet, key_column
from panelake.planning.plan import Plan
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, equal, none
from panelake.spark.delta import read_slices
from panelake.spark.slide import SET
from panelake.stages.panes import ROW, UNIT, aggregated

_ROUNDING = 2.0**-52
_FOLDED = ("count", "sum", "min", "max")


@dataclass(frozen=True)
class Totals:
    """The states that can be totalled, with the Spark types of their pane columns."""

    states: tuple[State, ...]
    types: Mapping[str, str]

    def of_tuples(self) -> list[Column]:
        """Each state's total over tuples, and for doubles the sum of magnitudes that bounds the rounding."""
        columns = [self._total(state, _value(state)) for state in self.states]
        floats = [state for state in self.states if self.rounds(state)]
        return columns + [F.sum(F.abs(F.expr(_value(state)))).alias(_magnitude(state)) for state in floats]

    def of_panes(self) -> list[Column]:
        return [self._total(state, f"`{state.column}`", merge=True) for state in self.states]

    def rounds(self, state: State) -> bool:
        return state.kind == "sum" and self.types[state.column] in {"double", "float"}

    def _total(self, state: State, value: str, *, merge: bool = False) -> Column:
        if state.kind == "count":
            return (F.coalesce(F.sum(value), F.lit(0)) if merge else F.count(F.expr(value))).alias(state.column)
        if state.kind == "sum":
            return F.expr(f"try_sum({self._wide(state, value)})").alias(state.column)
        return F.expr(f"{state.kind}({value})").alias(state.column)

    def _wide(self, state: State, value: str) -> str:
        """Whole numbers and decimals are summed in the widest decimal: a slice's total may exceed one window's."""
        kind = self.types[state.column]
        if kind == "bigint":
            return f"CAST({value} AS DECIMAL(38,0))"
        return f"CAST({value} AS DECIMAL(38,{kind.split(',')[1]})" if kind.startswith("decimal") else value


def totals_of(queries: Iterable[AggregateQuery], types: Mapping[str, str]) -> Totals:
    """The totals of all the queries' states; spread and sketches are left to the recompute of sampled answers."""
    states = dict.fromkeys(state for query in queries for state in states_of(query) if state.kind in _FOLDED)
    return Totals(tuple(state for state in states if state.column in types), types)


def tuple_facts(stream: StreamSlice, totals: Totals) -> DataFrame:
    """One row: every state's total over the slice's tuples."""
    return stream.tuples().agg(*totals.of_tuples())


def pane_facts(stream: StreamSlice, totals: Totals) -> DataFrame:
    """A row for each pane set of the slice: every state's total over its panes."""
    return slice_panes(stream).groupBy(SET).agg(*totals.of_panes())


def slice_panes(stream: StreamSlice) -> DataFrame:
    """The panes that the slice's tuples made."""
    address = stream.context.catalog.panes(stream.name)
    return read_slices(stream.context.spark, address, stream.part.start, stream.part.end)


def pane_metrics(stream: StreamSlice, plan: Plan, totals: Totals, tuples: pa.Table, panes: pa.Table) -> list[Metric]:
    """For each query whose panes are stored, their tuple count and all other states against the tuples."""
    of_sets = {row[SET]: row for row in panes.to_pylist()}
    metrics = []
    for pane_set in (made for made in plan.sets if made.stored):
        found = _Found(stream, totals, tuples.to_pylist()[0], of_sets.get(pane_set.name, {}))
        for query in (query for query in pane_set.queries if presence(query) in totals.states):
            metrics += [_counted(found, pane_set, query), _same_states(found, query)]
    return metrics


@dataclass(frozen=True)
class _Found:
    """The totals of one pane set, over tuples and over panes."""

    stream: StreamSlice
    totals: Totals
    tuples: Row
    panes: Row

    @property
    def table(self) -> str:
        return f"panes/{self.stream.name}"

    def both(self, state: State) -> tuple[Any, Any]:
        nothing = 0 if state.kind == "count" else None
        return self.tuples[state.column], self.panes.get(state.column, nothing)


def _counted(found: _Found, pane_set: PaneSet, query: AggregateQuery) -> Metric:
    true, stored = found.both(presence(query))
    rule = f"pane_counts({query.name})"
    return equal(found.table, rule, stored, true, lambda: _pane_sample(found.stream, pane_set, presence(query)))


def _same_states(found: _Found, query: AggregateQuery) -> Metric:
    states = [state for state in states_of(query) if state in found.totals.states and _differs(found, state)]
    expected = "the panes' total of a state is that of the tuples"
    rule = f"pane_states({query.name})"
    return none(found.table, rule, len(states), expected, lambda: [_difference(found, state) for state in states])


def _differs(found: _Found, state: State) -> bool:
    true, stored = found.both(state)
    if not found.totals.rounds(state):
        return not same_value(true, stored)
    allowed = max(1e-12, found.stream.accepted * _ROUNDING) * (found.tuples[_magnitude(state)] or 0.0)
    return not same_value(true, stored, allowed)


def _difference(found: _Found, state: State) -> Row:
    true, stored = found.both(state)
    return {"state": f"{state.kind}({_readable(state.argument or '*')})", "tuples": true, "panes": stored}


def same_value(one: Any, other: Any, allowed: float = 0.0) -> bool:
    """Equal, both NaN, or no further apart than allowed."""
    if one is None or other is None:
        return one is other
    if one == other or (one != one and other != other):  # noqa: PLR0124 - NaN is itself here
        return True
    return bool(allowed) and abs(one - other) <= allowed


def _pane_sample(stream: StreamSlice, pane_set: PaneSet, state: State) -> list[Row]:
    """Panes that differ from those the slice's tuples give, by group and place."""
    places = [name for name, cuts in ((UNIT, pane_set.time), (ROW, pane_set.rows)) if cuts]
    by = [*places, *(key_column(expression) for expression in pane_set.keys)]
    number, nothing = F.coalesce(state.column, F.lit(0)), F.lit(0).cast("bigint")
    true = aggregated(stream.tuples(), pane_set, stream.declared.event_time).select(*by, number, nothing)
    stored = slice_panes(stream).where(F.col(SET) == pane_set.name).select(*by, nothing, number)
    names = [*places, *(_readable(expression) for expression in pane_set.keys)]
    both = true.union(stored).toDF(*names, "tuples", "panes")
    named = [f"`{name}`" for name in names]
    summed = both.groupBy(*named).agg(F.sum("tuples").alias("tuples"), F.sum("panes").alias("panes"))
    wrong = summed.where(F.col("tuples") != F.col("panes")).orderBy(*named).limit(SAMPLE_ROWS)
    rows: list[Row] = wrong.toArrow().to_pylist()
    return rows


def _readable(expression: str) -> str:
    """An expression as a person would write it: without the quotes that Spark needs."""
    return expression.replace("`", "")


def _value(state: State) -> str:
    """The state's input over tuples, as Spark SQL of its own making."""
    value = state.argument or "1"
    if not state.conditions:
        return value
    return f"CASE WHEN {' AND '.join(f'({condition})' for condition in state.conditions)} THEN {value} END"


def _magnitude(state: State) -> str:
    return f"{state.column}_magnitude"
