"""A stream's filters in one slice: run in the order learned so far, watched on a sample, learned from for the next.

A tuple is dropped by the first filter, in the order in force, that is not TRUE for it, and counted to that one. The
order is kept with the slice, so that a slice run again counts the same; which tuples are kept never depends on it.
Filters that are written in Python and follow one another count together: their order changes between batches.
A single filter, and filters of which none may be moved, are neither sampled nor remembered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import and_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.filters import statistics as known_filters
from panelake.filters.chain import Placed, can_move
from panelake.filters.memory import FilterMemory, Learned
from panelake.filters.statistics import Doubles, FilterStatistics
from panelake.language.stream_filters import StreamFilter, placed_filters
from panelake.slices import Slice
from panelake.sources.source import POSITION, column, nothing
from panelake.spark.arrow_filters import ASKED, SAMPLED
from panelake.spark.filter_chain import is_sampled, outcome_of, sampling
from panelake.spark.filter_costs import clocked, costs_of
from panelake.spark.python_filters import BITS, SECONDS, judged_by, probed_by

DROPPED, OUTCOME = "_dropped", "_outcome"
_WANTED = "_wanted"
_PROBED = 5_000
_SAMPLED = "_sampled"
_TRUE, _NONE = True, False


@dataclass(frozen=True)
class Filtering:
    """Filters, what was known of them before the slice, and how it runs them: `used` by their places as written.

    One tuple in `every` is sampled, none where that is 0: the slice was run before, there is nothing to learn, or not
    now. `idle` are the seconds that filters took since the last sample, endless where they dropped other shares than
    expected; None where the slice teaches nothing.
    `source` is the text of filters.py, where functions of it are among the filters. `probing`: these tell costs too.
    """

    filters: tuple[StreamFilter, ...]
    chain: tuple[Placed, ...]
    before: FilterStatistics
    used: tuple[int, ...]
    event_time: str
    source: str = ""
    every: int = 0
    turn: int = 0
    idle: float | None = None
    probing: bool = False

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
        if self.every and self.python_runs:
            frame = frame.withColumn(_SAMPLED, self._is_sampled())
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
        sampled = F.col(_SAMPLED) if self.python_runs else self._is_sampled()
        return F.when(reached & sampled, outcome_of(self.chain, self.conditions()))

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
            sampled = F.when(reduce(and_, self._earlier(run), reached), SAMPLED).otherwise(0)
            wanted = F.when(F.col(_SAMPLED), sampled).otherwise(wanted)
        dropped = here & (F.col(_bits(run)) != (1 << len(run)) - 1)
        answered = self._answered(frame.withColumn(_WANTED, wanted), run)
        return answered.withColumn(DROPPED, F.coalesce(DROPPED, F.when(dropped, F.lit(self._name(run)))))

    def _answered(self, asked: DataFrame, run: Sequence[int]) -> DataFrame:
        """The tuples with the run's outcomes. Those that are not wanted do not go to Python.

        To part them the tuples are read twice, which is cheaper than Python's door; not so behind another run of it.
        """
        filters = [self.filters[number] for number in run]
        if self.probing:
            told = probed_by(self.source, filters, F.col(_WANTED))
            return asked.withColumn(_told(run), told).withColumn(_bits(run), F.col(_told(run))[BITS])
        outcome = judged_by(self.source, filters, F.col(_WANTED))
        if run != self.python_runs[0]:
            return asked.withColumn(_bits(run), outcome)
        others = asked.where(F.col(_WANTED) == 0).withColumn(_bits(run), F.lit(0).cast("bigint"))
        if self.every and not self._earlier(run):  # sampled tuples are all wanted: no need to look for them again
            others = others.withColumn(_SAMPLED, F.lit(_NONE))
        return asked.where(F.col(_WANTED) > 0).withColumn(_bits(run), outcome).unionByName(others)

    def _earlier(self, run: Sequence[int]) -> list[Column]:
        """The conditions that a sampled tuple must pass before it meets the run."""
        segment = min(self.chain[number].segment for number in run)
        return [c for c, at in zip(self.conditions(), self.chain, strict=True) if at.segment < segment]

    def _is_sampled(self) -> Column:
        return is_sampled([column(POSITION), F.unix_micros(column(self.event_time))], self.every)

    def learned(
        self, part: Slice, name: str, tuples: int, sample: Mapping[int, int], dropped: Mapping[str, int]
    ) -> Learned:
        """What the next slice resumes: statistics with the slice's sample, or how long there was none."""
        ordered = known_filters.with_order(self.before, self.used)  # where the sample is too small, as the probe had it
        after, idle = self.before, self._idle_after(ordered, tuples, dropped)
        if self.every:
            pairs = np.array(sorted(sample.items()), dtype=np.int64).reshape(-1, 2).T
            after, idle = known_filters.learn(ordered, self.chain, (pairs[0], pairs[1])), 0.0
        rows = self.before.to_row(), after.to_row()
        return Learned("stream", name, part, self.turn, self.used, tuples, *rows, idle)

    def _idle_after(self, ordered: FilterStatistics, tuples: int, dropped: Mapping[str, int]) -> float:
        """What each filter dropped costs nothing to know: it tells of a change without a sample."""
        if not self.every and ordered.surprised_by(self._by_filter(dropped), tuples):
            return math.inf
        return (self.idle or 0.0) + ordered.expected_cost() * tuples

    def _by_filter(self, dropped: Mapping[str, int]) -> dict[tuple[int, ...], int]:
        """Tuples dropped by each filter, or run of Python, from the counts by their names; namesakes count together."""
        alone = [[number] for run in self.runs if run not in self.python_runs for number in run]
        groups: dict[str, list[int]] = {}
        for group in alone + self.python_runs:
            groups.setdefault(self._name(group), []).extend(group)
        return {tuple(group): dropped.get(name, 0) for name, group in groups.items()}

    def _name(self, run: Sequence[int]) -> str:
        return " AND ".join(self.filters[number].text for number in sorted(run))


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
    idle = last.idle if last and before.samples else 0.0
    return due(replace(plain, before=before, used=before.order, turn=turn), idle, last.tuples if last else 0)


def due(filtering: Filtering, idle: float, tuples: int) -> Filtering:
    """With a sample of about so many tuples, if there is enough to learn for what it costs."""
    every = sampling(tuples, filtering.before.profile.weight) if filtering.before.wants_sample(idle) else 0
    return replace(filtering, every=every, idle=idle)


def as_written(
    filters: Sequence[StreamFilter], types: Mapping[str, str], event_time: str, source: str = ""
) -> Filtering:
    """The filters with nothing known of them."""
    chain = placed_filters(filters, types)
    fresh = known_filters.start(chain)
    return Filtering(tuple(filters), chain, fresh, fresh.order, event_time, source)


def probed(filtering: Filtering, tuples: DataFrame) -> Filtering:
    """With costs measured, if they are due; where nothing is known that still holds, with an order from a few tuples.

    These must have reached the filters. Probing decides on this slice's order alone; what is remembered is its sample.
    """
    is_anew = not filtering.before.samples or filtering.idle == math.inf
    if not filtering.every or not (filtering.before.wants_costs or is_anew):
        return filtering
    everything = replace(filtering, every=1, probing=True)
    answered = everything.judged(tuples.limit(_PROBED), F.lit(_TRUE))
    seconds = [F.col(_told(run))[SECONDS].alias(_told(run)) for run in everything.python_runs]
    outcome = F.coalesce(everything.outcome(F.lit(_TRUE)), F.lit(0)).alias(OUTCOME)
    told = answered.select(outcome, *clocked(everything.chain, everything.conditions()), *seconds).toArrow()
    before = filtering.before.with_costs(_costs(everything, told))
    if not is_anew:
        return replace(filtering, before=before)
    outcomes, counts = np.unique(told[OUTCOME].to_numpy(), return_counts=True)
    sample = outcomes.astype(np.int64), counts.astype(np.int64)
    return replace(filtering, before=before, used=known_filters.learn(before, filtering.chain, sample).order)


def _costs(everything: Filtering, told: pa.Table) -> Doubles:
    """Seconds a tuple of every filter: by the JVM's clock, those of Python by a worker's."""
    costs = costs_of(told, len(everything.chain))
    for run in everything.python_runs:
        batches = pc.list_flatten(told[_told(run)]).to_numpy().reshape(-1, len(run))
        costs[run] = np.fmin.reduce(batches, axis=0, initial=np.nan)
    return costs


def _told(run: Sequence[int]) -> str:
    return f"_told{_bits(run)}"


def _bits(run: Sequence[int]) -> str:
    return f"_bits_{'_'.join(str(number) for number in run)}"
