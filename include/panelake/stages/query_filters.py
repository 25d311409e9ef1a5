"""The WHERE of each query in a learned order: the conjunction inside its conditional aggregates.

Spark evaluates a query's conjunction once a tuple, up to the first condition that is not TRUE. What each condition
drops is learned from blocks of consecutive tuples, spread over the slice by a hash: few pages of bronze are read, in
one job for all queries of a stream. It is learned before the slice is aggregated, so that the slice gains from it, and
not in every slice: only when conditions have cost enough since to be worth a job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.filters import statistics as known_filters
from panelake.filters.chain import Placed, can_move
from panelake.filters.memory import FilterMemory, Learned
from panelake.filters.statistics import WORTH_SECONDS, FilterStatistics, Integers
from panelake.kernels.filter_order.draws import choice, first_draw
from panelake.language.raising import placed
from panelake.spark.filter_chain import outcome_of
from panelake.spark.filter_costs import clocked, costs_of
from panelake.stages.known_slices import Ingested

Orders = Mapping[tuple[str, ...], tuple[str, ...]]
BLOCKS, BLOCK_TUPLES = 40, 125
FEWEST = 1_000
_SEED = np.uint64(7)


@dataclass(frozen=True)
class _Where:
    """One query's WHERE: what was known, what is now, and what is to be remembered of it."""

    query: str
    chain: tuple[Placed, ...]
    own: Learned | None
    last: Learned | None

    @property
    def before(self) -> FilterStatistics:
        known = self.own.before if self.own else self.last.after if self.last else None
        return known_filters.resume(known, self.chain)

    @property
    def is_known(self) -> bool:
        """Whether the slice was run before, with the same conditions."""
        return self.own is not None and tuple(self.own.before["conditions"]) == self.before.conditions

    def idle(self, tuples: int) -> float:
        """Seconds that conditions will have cost since the last sample, with the slice."""
        earlier = self.last.idle if self.last and self.before.samples else 0.0
        cost = self.before.expected_cost() if self.before.samples else 0.0
        return earlier + cost * tuples

    def is_due(self, tuples: int) -> bool:
        if self.is_known:
            return False
        return tuples >= FEWEST and (not self.before.samples or self.idle(tuples) >= WORTH_SECONDS)

    def learned(self, known: Ingested, after: FilterStatistics, idle: float) -> Learned:
        turn = self.own.turn if self.own else self.last.turn + 1 if self.last else 0
        rows = self.before.to_row(), after.to_row()
        return Learned("query", self.query, known.slice, turn, after.order, known.end - known.first, *rows, idle)


def learned_orders(context: Context, stream: str, known: Ingested, tuples: DataFrame) -> Orders:
    """The order for each WHERE of the stream's queries that can be reordered, by its conditions as written."""
    wheres = _wheres(context, stream, known)
    count = known.end - known.first
    due = [where for where in wheres if where.is_due(count)]
    found = _learned(due, tuples.where(_blocks(known.first, known.end))) if due else {}
    orders, rows = {}, []
    for where in wheres:
        after = found.get(where.query, where.before)
        used = where.own.used if where.is_known and where.own else after.order
        orders[after.conditions] = tuple(after.conditions[number] for number in used)
        if not where.is_known:
            rows.append(where.learned(known, after, 0.0 if where in due else where.idle(count)))
    FilterMemory(context.catalog).record(rows)
    return orders


def _wheres(context: Context, stream: str, known: Ingested) -> list[_Where]:
    memory, types = FilterMemory(context.catalog), context.workspace.streams[stream].columns
    found = []
    for query in context.workspace.queries_of(stream):
        chain = placed(query.conditions, types)
        if can_move(chain):
            own = memory.of_slice("query", query.name, known.slice)
            found.append(_Where(query.name, chain, own, memory.last("query", query.name, apart_from=known.slice)))
    return found


def _learned(wheres: Sequence[_Where], sample: DataFrame) -> dict[str, FilterStatistics]:
    """One job for the outcomes of all, and for the costs of those that are due."""
    columns = [outcome_of(where.chain).alias(str(number)) for number, where in enumerate(wheres)]
    for number, where in enumerate(wheres):
        columns += clocked(where.chain, prefix=_clock(number)) if where.before.wants_costs else []
    told = sample.select(*columns).toArrow()
    found = {}
    for number, where in enumerate(wheres):
        costs = costs_of(told, len(where.chain), _clock(number)) if where.before.wants_costs else None
        seen, times = np.unique(told.column(number).to_numpy(), return_counts=True)
        tally: tuple[Integers, Integers] = (seen.astype(np.int64), times.astype(np.int64))
        found[where.query] = known_filters.learn(where.before, where.chain, tally, costs)
    return found


def _clock(number: int) -> str:
    return f"_clock_{number}_"


def blocks_of(first: int, end: int) -> list[tuple[int, int]]:
    """Blocks of sequence numbers in [first, end), one in each of BLOCKS equal stretches, at a place drawn by hash."""
    if end - first <= BLOCKS * BLOCK_TUPLES:
        return [(first, end)]
    starts = np.linspace(first, end, BLOCKS + 1).astype(np.int64)
    found = []
    for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        draw = np.uint64(first_draw(np.int64(low), _SEED))  # compiled code gives a plain integer
        start = low + int(choice(draw, high - low - BLOCK_TUPLES + 1))
        found.append((start, start + BLOCK_TUPLES))
    return found


def _blocks(first: int, end: int) -> F.Column:
    number = F.col("_seq")
    return reduce(or_, ((number >= low) & (number < high) for low, high in blocks_of(first, end)))
