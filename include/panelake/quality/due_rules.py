"""Rules that hold answers against panes: as many rows as windows with tuples, and the counts and sums that panes give.

How many windows hold a pane follows from its position alone, so both are exact sums over panes; no window is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.aggregates import State, presence
from panelake.gold import END
from panelake.language.query import WindowKind
from panelake.planning.pane_set import key_column, key_expressions
from panelake.planning.plan import Plan
from panelake.quality.answer_rules import Answers
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, equal, none
from panelake.quality.pane_rules import same_value
from panelake.quality.reach import panes_in_reach
from panelake.slices import to_datetime
from panelake.spark.slide import CHANGED, SET
from panelake.stages.panes import ROW, UNIT

_ROUNDING = 1e-9
_ROWS = "rows"
_SUMMED = {"bigint": "DECIMAL(28,0)", "double": "DOUBLE"}
_HELD = {"bigint": "DECIMAL(9,0)", "double": "DOUBLE"}


class DueRules:
    """The rules of all answers of one stream whose windows are of one kind: over time, or over rows."""

    def __init__(self, stream: StreamSlice, plan: Plan, kind: WindowKind, answers: Sequence[Answers]) -> None:
        self._stream = stream
        self._plan = plan
        self._answers = [one for one in answers if one.ranges and one.query.window.kind == kind]
        self._place = UNIT if kind == "TS" else ROW
        self._kind = kind

    def facts(self) -> DataFrame | None:
        """One row: for each query the rows due and, over all its windows, the sum of each count or sum it selects."""
        if not self._answers:
            return None
        held = {_held(one): self._held(one) for one in self._answers if self._summed(one)}
        held |= {_first(one): self._rows_begun(one) for one in self._answers}
        # Columns of their own: written into every sum, they would be most of a plan of many queries.
        panes = self._combined().withColumns(held)
        return panes.agg(*[column for one in self._answers for column in self._columns(one)])

    def metrics(self, facts: pa.Table | None) -> list[Metric]:
        """Rows due against rows staged, and totals against what the panes give."""
        found = {} if facts is None else facts.to_pylist()[0]
        return [metric for one in self._answers for metric in self._query_metrics(one, found)]

    def _query_metrics(self, one: Answers, found: Row) -> list[Metric]:
        due, staged = int(found.get(_name(one, _ROWS)) or 0), one.rows.num_rows
        if one.query.having:
            return [Metric(one.table, "rows_due", staged, 0, due, f"at most {due}: HAVING may drop any")]
        differing = [row for row in self._totals(one, found) if not row.pop("same")]
        expected = "the sum over all windows is what the panes give"
        return [
            equal(one.table, "rows_due", staged, due, lambda: self._sample(one)),
            none(one.table, "window_totals", len(differing), expected, lambda: differing + self._sample(one)),
        ]

    @cached_property
    def _panes(self) -> DataFrame:
        return panes_in_reach(self._stream, self._plan, self._kind, self._answers)

    @cached_property
    def _types(self) -> dict[str, str]:
        return {field.name: field.dataType.simpleString() for field in self._panes.schema}

    def _combined(self) -> DataFrame:
        """Panes of one group and place as one, whichever slices brought them, with the place before that had tuples."""
        keys = sorted({key for one in self._answers for key in _key_columns(one)})
        states = {state.column for one in self._answers for state in (presence(one.query), *self._summed(one).values())}
        sums = [F.expr(f"sum(CAST({name} AS {_SUMMED[self._types[name]]}))").alias(name) for name in sorted(states)]
        sums += [self._brought(name).alias(_changed(name)) for name in self._presences(restated=True)]
        combined = self._panes.groupBy(SET, *keys, self._place).agg(*sums)
        ordered = Window.partitionBy(SET, *keys).orderBy(self._place)
        past, upto = (ordered.rowsBetween(Window.unboundedPreceding, last) for last in (-1, Window.currentRow))
        onward = ordered.rowsBetween(Window.currentRow, Window.unboundedFollowing)
        near = {_before(name): self._last_with(name, past) for name in self._presences()}
        for name in self._presences(restated=True):
            near |= {
                _before(_changed(name)): self._last_with(_changed(name), past),
                _upto(name): self._last_with(_changed(name), upto),
                _from(name): F.first(self._place_with(_changed(name)), ignorenulls=True).over(onward),
            }
        return combined.withColumns(near)

    def _presences(self, *, restated: bool = False) -> list[str]:
        """The columns that count the queries' tuples; of the queries that restate windows alone, if asked for."""
        return list(dict.fromkeys(presence(one.query).column for one in self._answers if one.restated or not restated))

    def _brought(self, presence_column: str) -> Column:
        """How many of a pane's tuples the slice brought."""
        return F.sum(F.when(F.col(CHANGED), F.col(presence_column)).otherwise(0))

    def _place_with(self, name: str) -> Column:
        return F.when(F.col(name) > 0, F.col(self._place))

    def _last_with(self, name: str, frame: WindowSpec) -> Column:
        """The last place of a frame where the column is more than 0."""
        return F.last(self._place_with(name), ignorenulls=True).over(frame)

    def _columns(self, one: Answers) -> list[Column]:
        columns = [F.coalesce(F.sum(F.col(_quoted(_first(one)))), F.lit(0)).alias(_name(one, _ROWS))]
        for alias, state in self._summed(one).items():
            kind = self._types[state.column]
            total = F.col(state.column) * F.col(_quoted(_held(one))).cast(_HELD[kind])
            columns.append(F.sum(total).alias(_name(one, alias)))
            if kind == "double":
                columns.append(F.sum(F.abs(total)).alias(_name(one, f"|{alias}|")))
        return columns

    def _rows_begun(self, one: Answers) -> Column:
        """How many due rows a pane is the first of."""
        counted = F.when(self._mine(one), self._first_held(one)).otherwise(0)
        for ks in one.restated:
            counted += F.when(self._mine(one) & self._is_changed(one), self._first_held(one, ks)).otherwise(0)
        return counted

    def _mine(self, one: Answers) -> Column:
        """The query's panes that hold tuples of it."""
        return (F.col(SET) == self._plan.set_of(one.query.name).name) & (F.col(presence(one.query).column) > 0)

    def _is_changed(self, one: Answers) -> Column:
        """Whether the slice brought tuples of the pane that pass the query's WHERE."""
        return F.col(_changed(presence(one.query).column)) > 0

    def _held(self, one: Answers) -> Column:
        """How many due windows hold the pane, of restated ones those that hold a changed pane of its group too."""
        place = F.col(self._place)
        held = _first_with(one, place + one.spec.range) - _first_with(one, place)
        for ks in one.restated:
            held += self._held_with_changed(one, ks)
        return F.when(self._mine(one), held)

    def _held_with_changed(self, one: Answers, ks: range) -> Column:
        """All that hold the pane but those between the changed panes next to it, before and after."""
        place, name = F.col(self._place), presence(one.query).column
        first, stop = _first_with(one, place, ks), _first_with(one, place + one.spec.range, ks)
        past = F.greatest(first, _first_with(one, F.col(_upto(name)) + one.spec.range, ks))
        until = F.least(stop, _first_with(one, F.col(_from(name)), ks))
        return stop - first - F.greatest(F.lit(0), until - past)

    def _first_held(self, one: Answers, restated: range | None = None) -> Column:
        """How many due windows hold the pane and none before it of its group: a window counts at its first pane.

        Of restated windows those count that hold a changed pane, at the first of these.
        """
        name = presence(one.query).column
        before = F.col(_before(name if restated is None else _changed(name)))
        ks, place = one.due if restated is None else restated, F.col(self._place)
        start = F.greatest(_first_with(one, place, ks), _first_with(one, before + one.spec.range, ks))
        return F.greatest(F.lit(0), _first_with(one, place + one.spec.range, ks) - start)

    def _summed(self, one: Answers) -> dict[str, State]:
        """The outputs that are one count or sum, of a type that can be totalled."""
        states = {
            alias: State("count" if function == "count" else "sum", argument, one.query.conditions)
            for function, argument, alias in one.direct("count", "sum")
        }
        return {alias: state for alias, state in states.items() if self._types.get(state.column) in _SUMMED}

    def _totals(self, one: Answers, found: Row) -> list[Row]:
        """For each count or sum: staged against expected."""
        totals = []
        for alias, state in self._summed(one).items():
            expected, magnitude = found[_name(one, alias)], found.get(_name(one, f"|{alias}|"))
            exact = self._types[state.column] == "bigint"
            staged = pc.sum(one.rows[alias].cast(pa.decimal128(38, 0) if exact else pa.float64())).as_py()
            same = same_value(staged, expected, 0.0 if exact else _ROUNDING * (magnitude or 0.0))
            totals.append({"column": alias, "staged": _plain(staged), "expected": _plain(expected), "same": same})
        return totals

    def _sample(self, one: Answers) -> list[Row]:
        """Windows and groups staged and not due, due and not staged, or staged with another number of tuples."""
        aliases = [key.alias for key in one.query.keys]
        counted = next((alias for function, _, alias in one.direct("count")), None)
        due = (
            self._due_windows(one, counted).toDF("k", *aliases, "due").withColumn("staged", F.lit(None).cast("bigint"))
        )
        staged = self._stream.context.spark.createDataFrame(_staged_windows(one, counted))
        both = due.union(staged.select("k", *aliases, F.lit(None).cast("bigint"), "n"))
        by_window = both.groupBy("k", *aliases).agg(F.sum("due").alias("due"), F.sum("staged").alias("staged"))
        wrong = by_window.where(~F.col("due").eqNullSafe(F.col("staged"))).orderBy("k", *aliases).limit(SAMPLE_ROWS)
        rows = wrong.toArrow().to_pylist()
        return [{"window_end": _end(one, row.pop("k")), **row} for row in rows]

    def _due_windows(self, one: Answers, counted: str | None) -> DataFrame:
        """Each due window and group with its number of tuples, or 1 where the query does not select it."""
        keys = [key_column(key.expression) for key in one.query.keys]
        place = F.col(self._place)
        numbers = F.sequence(_first_with(one, place), _first_with(one, place + one.spec.range) - 1)
        held = _first_with(one, place + one.spec.range) - _first_with(one, place)
        windows = self._combined().where(self._mine(one) & (held > 0))
        value = F.sum(F.col(self._summed(one)[counted].column)).cast("bigint") if counted else F.lit(1).cast("bigint")
        return windows.withColumn("k", F.explode(numbers)).groupBy("k", *keys).agg(value)


def _first_with(one: Answers, position: Column, ks: range | None = None) -> Column:
    """The least k, of those due or one more, whose window ends after the position; NULL of a position that is NULL."""
    due = one.due if ks is None else ks
    past, slide = position - one.spec.shift, F.lit(one.spec.slide)
    k = F.call_function("div", past - F.pmod(past, slide), slide) + 1
    return F.when(position.isNotNull(), F.least(F.greatest(k, F.lit(due.start)), F.lit(due.stop)))


def _staged_windows(one: Answers, counted: str | None) -> pa.Table:
    """The staged rows by window number and group, with their number of tuples, or 1."""
    ends = one.rows[END].cast(pa.int64())
    numbers = pc.divide(pc.subtract(ends, one.spec.shift), one.spec.slide)
    count = one.rows[counted] if counted else pa.array([1] * one.rows.num_rows, pa.int64())
    staged = pa.table({"k": numbers, **{alias: one.rows[alias] for alias in one.keys}, "n": count})
    return staged.filter((pc.field("k") >= one.due.start) & (pc.field("k") < one.due.stop))


def _end(one: Answers, k: int) -> datetime | int:
    end = one.spec.end(k)
    return to_datetime(end) if one.query.window.kind == "TS" else end


def _plain(value: Decimal | float | None) -> int | float | None:
    return int(value) if isinstance(value, Decimal) else value


def _key_columns(one: Answers) -> list[str]:
    return [key_column(expression) for expression in key_expressions(one.query)]


def _before(column: str) -> str:
    return f"_before_{column}"


def _changed(column: str) -> str:
    return f"_changed_{column}"


def _upto(column: str) -> str:
    return f"_upto_{column}"


def _from(column: str) -> str:
    return f"_from_{column}"


def _name(one: Answers, what: str) -> str:
    return f"{one.query.name}/{what}"


def _held(one: Answers) -> str:
    return f"_held/{one.query.name}"


def _first(one: Answers) -> str:
    return f"_first/{one.query.name}"


def _quoted(column: str) -> str:
    return f"`{column}`"
