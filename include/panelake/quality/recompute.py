"""Answers against a raw recompute: a few windows and groups of each query, from bronze, by Spark's own aggregates.

Nothing of panes, states or kernels takes part, so that a fault anywhere between bronze and staging shows. The sample
is a function of slice and query. All samples of a stream are one pass over the tuples they reach.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.gold import END
from panelake.language.placeholders import names_in, replaced
from panelake.language.query import AggregateCall, AggregateQuery
from panelake.quality.answer_rules import Answers
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, none
from panelake.quality.pane_rules import same_value
from panelake.quality.reach import slices_in_reach
from panelake.slices import Slice, to_datetime
from panelake.spark.balanced import any_of
from panelake.spark.delta import DATE, SLICE
from panelake.stages.known_slices import Ingested

WINDOWS_PER_QUERY = 2
GROUPS_PER_WINDOW = 2
# Each is a condition on every tuple. Of more queries, chance draws as many for a slice.
MOST_SAMPLES = 8
# Windows that hold more than this many slices' tuples are sampled in every second, third, … slice.
AFFORDED_SLICES = 4
AFFORDED_TUPLES = 100_000
_ROUNDING = 1e-9
_SAMPLE = "_sample"
ALWAYS = "true"
# What the double a call gives may be off by is a share of these magnitudes.
_MAGNITUDES = {
    "sum": "sum(abs(CAST({0} AS DOUBLE)))",
    "avg": "avg(abs(CAST({0} AS DOUBLE)))",
    "stddev_samp": "avg(abs(CAST({0} AS DOUBLE)))",
    "var_samp": "pow(avg(abs(CAST({0} AS DOUBLE))), 2)",
}
CHECKED = {"count", "min", "max", *_MAGNITUDES}


@dataclass(frozen=True)
class Sample:
    """One staged row that is computed again."""

    answers: Answers
    row: Row

    @property
    def query(self) -> AggregateQuery:
        return self.answers.query

    @property
    def span(self) -> tuple[int, int]:
        """The positions [low, high) of the row's window."""
        end = _position(self.row[END])
        return end - self.answers.spec.range, end

    def reads(self, known: Ingested) -> bool:
        """Whether the slice holds tuples of the window."""
        return known.in_rows(*self.span) if self.query.window.kind == "ROW" else known.in_time(*self.span)


def chosen(stream: StreamSlice, answers: Sequence[Answers]) -> list[Sample]:
    """A few staged rows, the same ones for the same slice and rows; where windows are long, not in every slice."""
    due = [one for one in answers if one.rows.num_rows and _is_turn(stream, one)]
    if len(due) > MOST_SAMPLES:
        drawn = np.random.default_rng(_seed(stream.name, stream.part)).permutation(len(due))[:MOST_SAMPLES]
        due = [due[place] for place in sorted(drawn)]
    windows = min(WINDOWS_PER_QUERY, MOST_SAMPLES // max(1, len(due)))
    groups = min(GROUPS_PER_WINDOW, MOST_SAMPLES // max(1, len(due) * windows))
    return [sample for one in due for sample in _of_query(one, windows, groups)]


def _of_query(answers: Answers, windows: int, groups: int) -> list[Sample]:
    rows = answers.rows
    ends = np.unique(rows[END].cast(pa.int64()).to_numpy())
    order = [(END, "ascending"), *((key, "ascending") for key in answers.keys)]
    generator = np.random.default_rng(_seed(answers.query.name, answers.part))
    samples = []
    for end in generator.permutation(ends)[:windows]:
        mine = rows.filter(pc.equal(rows[END].cast(pa.int64()), int(end))).sort_by(order)
        places = generator.permutation(mine.num_rows)[:groups]
        samples += [Sample(answers, row) for row in mine.take(pa.array(places)).to_pylist()]
    return samples


def _is_turn(stream: StreamSlice, answers: Answers) -> bool:
    """Whether the query is sampled in this slice: the more tuples its windows hold, the less often."""
    reached = set(slices_in_reach(stream.known, answers))
    tuples = sum(one.end - one.first for one in stream.known if one.slice in reached)
    every = -(-tuples // (AFFORDED_SLICES * max(stream.accepted, AFFORDED_TUPLES)))
    return (stream.part.start // stream.part.length) % max(1, every) == 0


def _seed(name: str, part: Slice) -> int:
    return int.from_bytes(hashlib.sha256(f"{name} {part}".encode()).digest()[:8])


def recompute_facts(stream: StreamSlice, samples: Sequence[Sample]) -> DataFrame:
    """A row a sample: `_sample`, and for each query its outputs, its magnitudes and whether HAVING keeps it."""
    places = F.array(*[F.when(_in_sample(one, stream), n) for n, one in enumerate(samples)])
    # Dropping NULLs after explode stays in generated code; array_compact would leave it.
    spread = _tuples(stream, samples).withColumn(_SAMPLE, F.explode(places)).where(F.col(_SAMPLE).isNotNull())
    calls = _Calls(samples)
    return spread.groupBy(_SAMPLE).agg(*calls.aggregates()).select(_SAMPLE, *calls.outputs())


def recompute_metrics(answers: Sequence[Answers], samples: Sequence[Sample], facts: pa.Table | None) -> list[Metric]:
    """For each query the number of sampled rows that differ from the recompute."""
    found = {row[_SAMPLE]: row for row in facts.to_pylist()} if facts is not None else {}
    calls = _Calls(samples)
    differing: dict[str, list[Row]] = {one.table: [] for one in answers}
    for number, one in enumerate(samples):
        differing[one.answers.table] += _differences(one, found.get(number), calls)
    return [_metric(table, rows, samples) for table, rows in differing.items()]


def _metric(table: str, rows: list[Row], samples: Sequence[Sample]) -> Metric:
    sampled = sum(1 for one in samples if one.answers.table == table)
    expected = f"{sampled} sampled rows equal a recompute from bronze"
    return none(table, "recompute", len(rows), expected, lambda: rows[:SAMPLE_ROWS])


def _differences(one: Sample, found: Row | None, calls: _Calls) -> list[Row]:
    """The sample's columns that differ, with its window and group."""
    place = {name: one.row[name] for name in (END, *one.answers.keys)}
    kept = calls.column(one.query, one.query.having or ALWAYS)
    if found is None or (kept is not None and found[kept] is not True):
        return [{**place, "staged": "a row", "recomputed": "none"}]
    wrong = []
    for output in one.query.outputs:
        column = calls.column(one.query, output.expression)
        if column is not None and not _same(one.row[output.alias], found[column], found[f"{column}|"]):
            wrong.append(
                {**place, "column": output.alias, "staged": one.row[output.alias], "recomputed": found[column]}
            )
    return wrong


def _same(staged: Any, recomputed: Any, magnitude: float | None) -> bool:
    if not isinstance(staged, float) or recomputed is None:
        return same_value(staged, recomputed)
    size = max(abs(staged), abs(recomputed), magnitude or 0.0)
    return same_value(staged, recomputed, _ROUNDING * size if math.isfinite(size) else 0.0)


def _tuples(stream: StreamSlice, samples: Sequence[Sample]) -> DataFrame:
    """The tuples in any sampled window, of the slices that hold some."""
    starts = sorted(
        {to_datetime(known.slice.start) for known in stream.known if any(one.reads(known) for one in samples)}
    )
    bronze = stream.context.spark.read.format("delta").load(stream.context.catalog.bronze(stream.name))
    in_days = F.col(DATE).between(F.lit(starts[0].date()), F.lit(starts[-1].date()))
    windows = {(one.query.window.kind, *one.span): one for one in samples}
    inside = any_of([_inside(one, stream) for one in windows.values()])
    return bronze.where(in_days & F.col(SLICE).isin(starts) & inside)


def _inside(one: Sample, stream: StreamSlice) -> Column:
    """Whether a tuple lies in the sample's window, in a form that files are skipped by."""
    low, high = one.span
    if one.query.window.kind == "ROW":
        return (F.col("_seq") >= low) & (F.col("_seq") < high)
    time = F.col(f"`{stream.declared.event_time}`")
    return (time >= F.lit(to_datetime(low))) & (time < F.lit(to_datetime(high)))


def _in_sample(one: Sample, stream: StreamSlice) -> Column:
    """Whether a tuple belongs to the sample's window and group and passes WHERE."""
    conditions = [F.expr(condition) for condition in one.query.conditions]
    group = [F.expr(key.expression).eqNullSafe(F.lit(one.row[key.alias])) for key in one.query.keys]
    return reduce(and_, [_inside(one, stream), *conditions, *group])


def _position(end: Any) -> int:
    return end if isinstance(end, int) else int(pa.scalar(end, pa.timestamp("us", tz="UTC")).value)


@dataclass(frozen=True)
class _Value:
    """A column of recomputed values, the calls it is made of and the queries that have it."""

    column: str
    calls: tuple[AggregateCall, ...]
    users: set[str]


class _Calls:
    """The samples' aggregate calls, each computed once whichever queries use it."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._queries = tuple({one.query.name: one.query for one in samples}.values())
        self._samples = {
            query.name: ", ".join(str(n) for n, one in enumerate(samples) if one.query == query)
            for query in self._queries
        }
        calls = dict.fromkeys(call for query in self._queries for call in query.calls if call.function in CHECKED)
        self._columns = {call: f"c{number}" for number, call in enumerate(calls)}
        keys = dict.fromkeys(key.expression for query in self._queries for key in query.keys)
        self._keys = {expression: f"k{number}" for number, expression in enumerate(keys)}

    def aggregates(self) -> list[Column]:
        """Calls, the magnitudes of those that round, and group keys."""
        columns = []
        for call, name in self._columns.items():
            users = [query for query in self._queries if call in query.calls]
            value = self._guarded(call.argument or "1", users)
            columns += [F.expr(f"{call.function}({value})").alias(name), magnitude(call, value).alias(f"{name}|")]
        for expression, name in self._keys.items():
            users = [query for query in self._queries if expression in {key.expression for key in query.keys}]
            columns.append(F.expr(f"max({self._guarded(expression, users)})").alias(name))
        return columns

    def outputs(self) -> list[Column]:
        """Each distinct value that can be checked, its magnitude, and what each distinct HAVING says."""
        columns = []
        for value, found in self._values.items():
            guarded = self._guarded(value, [query for query in self._queries if query.name in found.users])
            columns.append(F.expr(guarded).alias(found.column))
            sizes = [F.col(f"`{self._columns[call]}|`") for call in found.calls]
            columns.append(F.array_max(F.array(F.lit(0.0), *sizes)).alias(f"{found.column}|"))
        return columns

    def column(self, query: AggregateQuery, expression: str) -> str | None:
        """The column of an output or of HAVING; None where it cannot be checked."""
        if not all(call in self._columns for call in calls_in(expression, query)):
            return None
        return self._values[self._resolved(expression, query)].column

    @cached_property
    def _values(self) -> dict[str, _Value]:
        """What the queries select and limit themselves by, each value once whichever queries have it."""
        values: dict[str, _Value] = {}
        for query in self._queries:
            for expression in (query.having or ALWAYS, *(output.expression for output in query.outputs)):
                calls = calls_in(expression, query)
                if all(call in self._columns for call in calls):
                    value = self._resolved(expression, query)
                    found = values.setdefault(value, _Value(f"v{len(values)}", tuple(calls), set()))
                    found.users.add(query.name)
        return values

    def _guarded(self, value: str, users: Iterable[AggregateQuery]) -> str:
        """The value for the samples of the queries that use it: for other tuples it may not even be defined."""
        numbers = ", ".join(self._samples[query.name] for query in users)
        return f"CASE WHEN {_SAMPLE} IN ({numbers}) THEN {value} END"

    def _resolved(self, expression: str, query: AggregateQuery) -> str:
        """The expression with placeholders and key aliases replaced by columns."""
        meanings = {key.alias: self._keys[key.expression] for key in query.keys}
        meanings |= {f"_a{n}": self._columns[call] for n, call in enumerate(query.calls) if call in self._columns}
        return replaced(expression, tuple(meanings.items()))


def calls_in(expression: str, query: AggregateQuery) -> list[AggregateCall]:
    """The query's aggregate calls that an output or HAVING uses."""
    names = names_in(expression)
    return [call for number, call in enumerate(query.calls) if f"_a{number}" in names]


def magnitude(call: AggregateCall, value: str) -> Column:
    """What the rounding of the call's double is a share of; NULL for calls that are exact."""
    form = _MAGNITUDES.get(call.function)
    return F.expr(form.format(value)) if form else F.lit(None).cast("double")
