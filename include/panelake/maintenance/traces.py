"""What a forgotten tuple leaves beside the tables it was deleted from: states of joins, and staged answers.

A join with a memory limit remembers tuples after each slice. Every state that holds the tuple is made anew from the
state before it; where a slice was repaired, its results stay exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panelake import tables
from panelake.context import Context
from panelake.kernels.joins.snapshot import Snapshot
from panelake.language.query import JoinQuery
from panelake.maintenance import staged
from panelake.slices import Slice, to_microseconds
from panelake.spark.join_worker import SEQ, SLICE, STREAM
from panelake.spark.shed_worker import unpacked, unpacked_snapshot
from panelake.stages.join_limited import join_within_memory
from panelake.stages.join_state import STATES
from panelake.stages.join_tuples import reach_of
from panelake.staging import attempt_folder, fresh_attempt


def remembering(context: Context, stream: str, parts: Sequence[Slice]) -> set[Slice]:
    """The slices after which a join still remembers a tuple of these that bronze no longer has."""
    found = set()
    for join in _limited_joins(context, stream):
        kept = dict(_remembered(context, join, stream, parts))
        there = _still_there(context, stream, sorted(set().union(*kept.values())))
        found |= {part for part, numbers in kept.items() if numbers - there}
        found |= _sampled_after(context, join, stream, parts)
    return found


def remember_anew(context: Context, stream: str, part: Slice) -> None:
    """Make the states after a repaired slice anew: its own join, which is exact, leaves them as they are."""
    for join in _limited_joins(context, stream):
        joined = context.ledger.of_slice(part).get(("join", join.name))
        if joined is not None and joined.details.get("repaired"):
            with context.locks.working(), context.locks.slice(part):
                folder = context.catalog.staged_join(join.name, part)
                reach = reach_of(join, part, context.ledger.entries(), later=False)
                join_within_memory(context, reach, attempt_folder(folder, fresh_attempt(folder)))


def remove_staged(context: Context, stream: str) -> None:
    """Delete published answers from staging: those of other slices may tell of the key too."""
    joins = any(stream in join.reads for join in context.workspace.joins.values())
    for name in (stream, *((staged.JOINS,) if joins else ())):
        staged.remove(context, name, staged.published(context, name))


def _limited_joins(context: Context, stream: str) -> list[JoinQuery]:
    joins = context.workspace.joins.values()
    return [join for join in joins if join.memory is not None and stream in join.reads]


def _remembered(
    context: Context, join: JoinQuery, stream: str, parts: Sequence[Slice]
) -> Iterator[tuple[Slice, set[int]]]:
    """By slice, the numbers of the tuples of `parts` that the states after it hold."""
    places = pa.array([place for place, one in enumerate(join.streams) if one.stream == stream], pa.int32())
    starts = pa.array([part.start for part in parts], pa.int64())
    states = tables.read(context.catalog.state(join.name), STATES, columns=["slice_start", "slice_end", "held"])
    by_slice: dict[Slice, set[int]] = {}
    for row in states.to_pylist():
        if row["held"] is not None:
            held = unpacked(row["held"])
            mine = pc.and_(pc.is_in(held[STREAM], places), pc.is_in(held[SLICE], starts))
            part = Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"]))
            by_slice.setdefault(part, set()).update(held[SEQ].filter(mine).to_pylist())
    yield from by_slice.items()


def _sampled_after(context: Context, join: JoinQuery, stream: str, parts: Sequence[Slice]) -> set[Slice]:
    """The slices after which a join's sample of keys has tuples of these: it has their keys, shed or not."""
    places = [place for place, one in enumerate(join.streams) if one.stream == stream]
    states = tables.read(context.catalog.state(join.name), STATES, columns=["slice_start", "slice_end", "snapshot"])
    return {
        Slice(to_microseconds(row["slice_start"]), to_microseconds(row["slice_end"]))
        for row in states.to_pylist()
        if samples(unpacked_snapshot(row["snapshot"]), places, parts)
    }


def samples(snapshot: Snapshot, places: Sequence[int], parts: Sequence[Slice]) -> bool:
    """Whether a join's sample of keys has tuples of these streams and slices."""
    stream = np.repeat(np.arange(len(snapshot["sampled_held"])), snapshot["sampled_held"])
    times = snapshot["sampled_ts"][np.isin(stream, places)]
    return any(bool(((times >= part.start) & (times < part.end)).any()) for part in parts)


def _still_there(context: Context, stream: str, numbers: Sequence[int]) -> set[int]:
    wanted = pc.field("_seq").isin(pa.array(numbers, pa.int64()))
    schema = pa.schema([("_seq", pa.int64())])
    return set(tables.read(context.catalog.bronze(stream), schema, columns=["_seq"], also=wanted)["_seq"].to_pylist())
