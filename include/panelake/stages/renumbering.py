"""Renumbering: after a restatement, bronze of the slices whose numbers moved follows the reservations.

A slice cut short keeps its old ledger entry, so that the next ingest finds it again.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.errors import TransientError
from panelake.numbers import NumberRange, Numbers
from panelake.slices import Slice
from panelake.spark.delta import DATE, SLICE, read_slices, replace_counted


def renumber(context: Context, name: str, apart_from: Slice) -> list[str]:
    """Move the numbers of every slice whose entry shows others than are reserved; give the slices moved."""
    entries = {entry.slice: entry for entry in context.ledger.entries(stage="ingest", subject=name)}
    moved = []
    for given in Numbers(context.catalog).taken(name):
        entry = entries.get(given.slice)
        if entry is None or given.slice == apart_from or entry.details.get("first") == given.first:
            continue
        _move(context, name, given)
        ranges = [DirtyRange(given.slice, given.slice.start, given.slice.end, "renumbered", given.count)]
        DirtySet(context.catalog).mark(name, given.slice, ranges)
        context.ledger.record([replace(entry, details=entry.details | {"first": given.first})])
        moved.append(given.slice.name)
    return moved


def _move(context: Context, name: str, given: NumberRange) -> None:
    """Shift the slice's numbers to where they are reserved; once they are there, nothing changes."""
    address = context.catalog.bronze(name)
    tuples = read_slices(context.spark, address, given.slice.start, given.slice.start + 1)
    least = tuples.agg(F.min("_seq")).first()[0]
    if least is None or least == given.first:
        return
    shifted = tuples.withColumn("_seq", F.col("_seq") + (given.first - least)).drop(SLICE, DATE)
    written = replace_counted(shifted, address, given.slice)
    if written != given.count:
        raise TransientError(
            f"{address}, slice {given.slice}: {written} tuples renumbered, {given.count} are reserved; run it again"
        )
