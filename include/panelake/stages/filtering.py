"""A stream's filters in one slice: run in the order learned so far, watched on a sample, learned from for the next.

A tuple is dropped by the first filter, in the order in force, that is not TRUE for it, and counted to that one. The
order is kept with the slice, so that a slice run again counts the same; which tuples are kept never depends on it.
Filters that are written in Python and follow one another count together: their order changes between batches.
A single filter, and filters of which none may be moved, are neither sampled nor remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import and_

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.filters import statistics as known_filters
from panelake.filters.chain import Placed, can_move
from panelake.filters.memory import FilterMemory, Learned
from panelake.filters.statistics import Doubles, FilterStatistics, Sample
from panelake.language.stream_filters import StreamFilter, placed_filters
from panelake.slices import Slice
from panelake.sources.source import POSITION, column, nothing
from panelake.spark.arrow_filters import ASKED, SAMPLED
from panelake.spark.filter_chain import is_sampled, outcome_of, sampling
from panelake.spark.filter_costs import measure_costs
from panelake.spark.python_filters import judged_by, timed_by

DROPPED, OUTCOME = "_dropped", "_outcome"
_WANTED = "_wanted"
_PROBED, _TIMED = 5_000, 2_000
_TRUE = True


@dataclass(frozen=True)
class Filtering:
    """Filters, what was known of them before the slice, and how it runs them: `used` by their places as written.

    One tuple in `every` is sampled, none where that is 0: the slice was run before, or there is nothing to learn.
    `source` is the text of filters.py, where functions of it are among the filters.
    """

    filters: tuple[StreamFilter, ...]
    chain: tuple[Placed, ...]
    before: FilterStatistics
    used: tuple[int, ...]
    event_time: str
    source: str = ""
    every: int = 0
    turn: int = 0

    @property
    def runs(self) -> list[list[int]]:
        """The order used, cut where SQL and Python meet."""
        return [list(run) for _, run in groupby(self.used, key=lambda number: bool(self.filters[number].function))]

    @property
    def python_runs(self) -> list[list[int]]:
        """Those of Python."""
        return [run for run in self.runs if self.filters[run[0]].function]

    def judged(self, tuples: DataFrame, reached: Column) -> DataFrame:
        """Tuples with `_dropped`: the filter that drops a tuple among those `reached`, NULL where none does."""
        if len(self.runs) == 1 and not self.source:
            return tuples.withColumn(DROPPED, F.when(reached, self._first_failing(self.runs[0])))
        frame = tuples.withColumn(DROPPED, nothing())
        for run in self.runs:
            here = reached & F.col(DROPPED).isNull()
            if self.filters[run[0]].function:
                frame = self._asked(frame, run, here, reached)
            else:
                frame = frame.withColumn(DROPPED, F.coalesce(DROPPED, F.when(here, self._first_failing(run))))
        return frame

    def outcome(self, reached: Column) -> Column | None:
        """What all filters say of a sampled tuple among those `reached`, NULL of others; None if none is sampled."""
        if not self.every:
            return None
        return F.when(reached & self._is_sampled(), outcome_of(self.chain, self.conditions()))

    def conditions(self) -> list[Column]:
        """Each filter as a condition; of one in Python what the column of its run tells of a sampled tuple."""
        found = [F.expr(known.sql or "FALSE") for known in self.filters]
        for run in self.python_runs:
            for bit, number in enumerate(run):
                found[number] = F.col(_bits(run)).bitwiseAND(F.lit(1 << bit)) != 0
        return found

    def _first_failing(self, run: Sequence[int]) -> Column:
        failing = nothing()
        for number in reversed(run):
            known = self.filters[number]
            failing = F.when(F.expr(known.sql), failing).otherwise(F.lit(known.text))
        return failing

    def _asked(self, frame: DataFrame, run: Sequence[int], here: Column, reached: Column) -> DataFrame:
        """A run of Python: sampled tuples meet all its functions, once all earlier segments let them pass."""
        wanted = F.when(here, ASKED).otherwise(0)
        if self.every:
            segment = min(self.chain[number].segment for number in run)
            earlier = [c for c, at in zip(self.conditions(), self.chain, strict=True) if at.segment < segment]
            sampled = reduce(and_, earlier, reached & self._is_sampled())
            wanted = F.when(sampled, SAMPLED).otherwise(F.when(reached & self._is_sampled(), 0).otherwise(wanted))
        dropped = here & (F.col(_bits(run)) != (1 << len(run)) - 1)
        text = " AND ".join(self.filters[number].text for number in sorted(run))
        answered = self._answered(frame.withColumn(_WANTED, wanted), run)
        return answered.withColumn(DROPPED, F.coalesce(DROPPED, F.when(dropped, F.lit(text))))

    def _answered(self, asked: DataFrame, run: Sequence[int]) -> DataFrame:
        """The tuples with the run's outcomes. Those that are not wanted do not go to Python.

        To part them the tuples are read twice, which is cheaper than Python's door; not so behind another run of it.
        """
        outcome = judged_by(self.source, [self.filters[number] for number in run], F.col(_WANTED))
        if run != self.python_runs[0]:
            return asked.withColumn(_bits(run), outcome)
        others = asked.where(F.col(_WANTED) == 0).withColumn(_bits(run), F.lit(0).cast("bigint"))
        return asked.where(F.col(_WANTED) > 0).withColumn(_bits(run), outcome).unionByName(others)

    def _is_sampled(self) -> Column:
        return is_sampled([column(POSITION), F.unix_micros(column(self.event_time))], self.every)

    def learned(self, part: Slice, name: str, tuples: int, sample: Mapping[int, int]) -> Learned:
        """What the next slice resumes: statistics with the slice's sample."""
        pairs = np.array(sorted(sample.items()), dtype=np.int64).reshape(-1, 2).T
        ordered = known_filters.with_order(self.before, self.used)  # where the sample is too small, as the probe had it
        after = known_filters.learn(ordered, self.chain, (pairs[0], pairs[1]))
        rows = self.before.to_row(), after.to_row()
        return Learned("stream", name, part, self.turn, self.used, tuples, *rows)


def opened(memory: FilterMemory, name: str, part: Slice, plain: Filtering, *, anew: bool = False) -> Filtering:
    """The filters in the order for the slice; `anew` where its tuples are others than when it was run before."""
    if not can_move(plain.chain):
        return plain
    own = memory.of_slice("stream", name, part)
    if own is not None and not anew and tuple(own.before["conditions"]) == plain.before.conditions:
        return replace(plain, used=own.used)
    last = memory.last("stream", name, apart_from=part)
    before = known_filters.resume(own.before if own else last.after if last else None, plain.chain)
    turn = own.turn if own else last.turn + 1 if last else 0
    every = sampling(last.tuples if last else 0, before.profile.weight)
    return replace(plain, before=before, used=before.order, every=every, turn=turn)


def as_written(
    filters: Sequence[StreamFilter], types: Mapping[str, str], event_time: str, source: str = ""
) -> Filtering:
    """The filters with nothing known of them."""
    chain = placed_filters(filters, types)
    fresh = known_filters.start(chain)
    return Filtering(tuple(filters), chain, fresh, fresh.order, event_time, source)


def probed(filtering: Filtering, tuples: DataFrame) -> Filtering:
    """With costs measured, if they are due; and where nothing is known, with an order from the first of the tuples.

    These must have reached the filters. Probing decides on this slice's order alone; what is remembered is its sample.
    """
    if not filtering.every or not filtering.before.wants_costs:
        return filtering
    everything = replace(filtering, every=1)
    first = everything.judged(tuples.limit(_PROBED), F.lit(_TRUE)).persist()
    try:
        before = filtering.before.with_costs(_costs(everything, first))
        if before.samples:
            return replace(filtering, before=before)
        sample = _tallied(first, everything.outcome(F.lit(_TRUE)))
    finally:
        first.unpersist()
    return replace(filtering, before=before, used=known_filters.learn(before, filtering.chain, sample).order)


def _costs(everything: Filtering, first: DataFrame) -> Doubles:
    """Seconds a tuple of every filter: by the JVM's clock, those of Python by a worker's."""
    costs = measure_costs(first, everything.chain, everything.conditions())
    for run in everything.python_runs:
        filters = [everything.filters[number] for number in run]
        timed = first.where(F.col(_WANTED) == SAMPLED).limit(_TIMED).select(timed_by(everything.source, filters))
        rows = [row[0] for row in timed.collect()]
        costs[run] = np.fmin.reduce(np.array(rows), axis=0) if rows else np.nan
    return costs


def _tallied(frame: DataFrame, outcome: Column | None) -> Sample:
    if outcome is None:
        raise ValueError("nothing is sampled; ask for a sample first")
    rows = frame.groupBy(outcome.alias(OUTCOME)).count().collect()
    pairs = np.array(sorted((row[0], row[1]) for row in rows), dtype=np.int64).reshape(-1, 2).T
    return pairs[0], pairs[1]


def _bits(run: Sequence[int]) -> str:
    return f"_bits_{'_'.join(str(number) for number in run)}"
