"""Which tuples of bronze may still be read: by windows to come, by late tuples, by slices not published yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panelake.context import Context
from panelake.language.parser import Query
from panelake.language.query import AggregateQuery, JoinQuery
from panelake.repairs import pending_repairs
from panelake.slices import Slice
from panelake.stages.known_slices import Ingested


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
    What an ingested slice that is not published will read is counted in the same way from its earliest tuple.
    """
    queries = context.workspace.queries_of(stream)
    joins = [join for join in context.workspace.joins.values() if stream in join.reads]
    open_slices = [one for one in known if one.slice not in _published(context, [*queries, *joins])]
    newest = max(one.slice.end for one in known) - context.workspace.streams[stream].lateness
    times = [newest, *(one.low for one in open_slices), *_unrepaired(context, joins)]
    numbers = [max(one.end for one in known), *(one.first for one in open_slices)]
    longest = max([_longest(queries, "TS"), *(join.longest_range for join in joins)])
    return Needed(min(times) - longest, min(numbers) - _longest(queries, "ROW"))


def _unrepaired(context: Context, joins: Sequence[JoinQuery]) -> list[int]:
    """From when on joins may lack results that only bronze can bring back."""
    names = {join.name for join in joins}
    repairs = [repair for repair in pending_repairs(context) if repair.query in names]
    return [min(known.low, repair.slices[0].start) for repair in repairs for known in repair.ranges]


def _published(context: Context, queries: Sequence[Query]) -> set[Slice]:
    """The slices that every query of the stream has answers of; a stream without queries has none to wait for."""
    if not queries:
        return {entry.slice for entry in context.ledger.entries(stage="ingest", subject="")}
    entries = context.ledger.entries(stage="publish")
    done = [{e.slice for e in entries if e.subject == query.name and e.status == "done"} for query in queries]
    return set.intersection(*done)


def _longest(queries: Sequence[AggregateQuery], kind: str) -> int:
    return max((query.window.range for query in queries if query.window.kind == kind), default=0)
