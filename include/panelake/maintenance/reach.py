"""Which tuples of bronze may still be read: by windows to come, by late tuples, by slices not published yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panelake.context import Context
from panelake.language.query import AggregateQuery, JoinQuery
from panelake.repairs import pending_repairs
from panelake.slices import Slice
from panelake.stages.known_slices import Ingested, ingested_slices


@dataclass(frozen=True)
class Needed:
    """Event times from `time` on and sequence numbers from `number` on may still be read."""

    time: int
    number: int

    def is_past(self, one: Ingested) -> bool:
        """Whether nothing will read the slice's tuples again."""
        return one.high <= self.time and (one.first == one.end or one.end <= self.number)


def needed(context: Context, stream: str, known: Sequence[Ingested]) -> Needed:
    """The least that must stay of a stream that has slices.

    A tuple of the next slice may be late by the lateness allowed, and changes windows that begin a range before it.
    What an ingested slice that is not published will read is counted in the same way from its earliest tuple. A join
    also reads the stream for the late tuples of the others, and once more where it is to be repaired.
    """
    queries = context.workspace.queries_of(stream)
    joins = [join for join in context.workspace.joins.values() if stream in join.reads]
    published = _published(context, [*(query.name for query in queries), *(join.name for join in joins)])
    open_slices = [one for one in known if one.slice not in published]
    times = [_next_time(context, stream, known), *(one.low for one in open_slices)]
    numbers = [max(one.end for one in known), *(one.first for one in open_slices)]
    time = min(times) - _longest(queries, "TS")
    return Needed(
        min([time, *(_read_by(context, join, times) for join in joins)]), min(numbers) - _longest(queries, "ROW")
    )


def _next_time(context: Context, stream: str, known: Sequence[Ingested]) -> int:
    """The earliest event time that the next slice may bring."""
    return max(one.slice.end for one in known) - context.workspace.streams[stream].lateness


def _read_by(context: Context, join: JoinQuery, times: Sequence[int]) -> int:
    """The earliest event time that the join may still read."""
    entries = context.ledger.entries(stage="ingest")
    others = {name: ingested_slices(entries, name) for name in join.reads}
    next_times = [_next_time(context, name, known) for name, known in others.items() if known]
    return min([*times, *next_times, *_unrepaired(context, join)]) - join.longest_range


def _unrepaired(context: Context, join: JoinQuery) -> list[int]:
    """From when on the join may lack results that only bronze can bring back."""
    repairs = [repair for repair in pending_repairs(context) if repair.query == join.name]
    return [min(known.low, repair.slices[0].start) for repair in repairs for known in repair.ranges]


def _published(context: Context, names: Sequence[str]) -> set[Slice]:
    """The slices that every query of the stream has answers of; a stream without queries has none to wait for."""
    if not names:
        return {entry.slice for entry in context.ledger.entries(stage="ingest", subject="")}
    entries = context.ledger.entries(stage="publish")
    done = [{e.slice for e in entries if e.subject == name and e.status == "done"} for name in names]
    return set.intersection(*done)


def _longest(queries: Sequence[AggregateQuery], kind: str) -> int:
    return max((query.window.range for query in queries if query.window.kind == kind), default=0)
