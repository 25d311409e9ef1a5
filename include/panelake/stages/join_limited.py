"""The join with MEMORY: the slice's own tuples in their own time, from the state before the slice.

Late tuples have missed their window: they are joined from bronze, exactly, for their keys alone. What they, or history
run after later slices, would have brought to those later slices is left to repair.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema

from panelake.context import Context
from panelake.join_memory import logical_partitions
from panelake.spark.join_worker import KEY, OWN, SEQ, STREAM, TS
from panelake.spark.shed_worker import HELD, PARTITION, STATE, shed_partition, widened_schema
from panelake.stages.join_results import join_task, joined, selected
from panelake.stages.join_state import Remembered, SliceOutcome, keep_state, state_before
from panelake.stages.join_tuples import JoinReach, own_on_time, read_tuples

_LONG_AGO = -(2**63)
_WHAT = "_what"


def join_within_memory(context: Context, reach: JoinReach, folder: str) -> tuple[DataFrame, SliceOutcome]:
    """Stage the slice's results in the folder and keep the state after it; give their frame and what happened."""
    query, part = reach.query, reach.part
    before = state_before(context, query, part)
    matches = _limited(context, reach, before)
    if reach.own_span != part:
        matches = matches.unionByName(_off_time(context, reach), allowMissingColumns=True)
    results = selected(matches, query, more=(PARTITION, STATE, HELD, "_facts"))
    what = F.when(F.col(STATE).isNull(), "results").otherwise("state")
    writer = results.withColumn(_WHAT, what).write.mode("overwrite").partitionBy(_WHAT)
    writer.parquet(folder)
    return results, keep_state(context, query, part, before, folder)


def _limited(context: Context, reach: JoinReach, before: Remembered) -> DataFrame:
    query = reach.query
    partitions = logical_partitions(query.memory or 1)
    tuples = own_on_time(context, reach)
    by_key = F.pmod(F.xxhash64(KEY), F.lit(partitions)).cast("int")
    nothing = [F.lit(None).cast("binary").alias(name) for name in (STATE, HELD)]
    rows = tuples.select("*", by_key.alias(PARTITION), *nothing)
    if before.end is not None:
        rows = rows.unionByName(_states(context, reach, before), allowMissingColumns=True)
    task = join_task(tuples, reach)
    spec = replace(task.spec, memory=query.memory, policy=query.policy)
    work = partial(shed_partition, task=replace(task, spec=spec, emit_from=None))
    in_order = rows.repartition(PARTITION).sortWithinPartitions(PARTITION, TS, STREAM, SEQ)
    return in_order.mapInArrow(work, from_arrow_schema(widened_schema(task.schema)))


def _states(context: Context, reach: JoinReach, before: Remembered) -> DataFrame:
    """The partitions' states as rows that come before all tuples."""
    part = before.rows.slice(0, 1).to_pylist()[0]
    mine: dict[str, Any] = {name: part[name] for name in ("slice_start", "slice_end")}
    states = context.spark.read.format("delta").load(context.catalog.state(reach.query.name))
    for name, instant in mine.items():
        states = states.where(F.col(name) == F.lit(instant))
    return states.where(F.col("fingerprint") == reach.query.fingerprint).select(
        F.lit(_LONG_AGO).cast("bigint").alias(TS),
        F.lit(0).cast("int").alias(STREAM),
        F.lit(0).cast("bigint").alias(SEQ),
        F.col("partition").alias(PARTITION),
        F.col("snapshot").alias(STATE),
        F.col("held").alias(HELD),
    )


def _off_time(context: Context, reach: JoinReach) -> DataFrame:
    """Combinations with a late tuple of the slice, or one that came before its time, from bronze."""
    on_time = (F.col(TS) >= reach.part.start) & (F.col(TS) < reach.part.end)
    tuples = read_tuples(context, reach).withColumn(OWN, F.col(OWN) & ~on_time)
    return joined(tuples, reach)


def repair_spans(reach: JoinReach, outcome: SliceOutcome, *, is_new: bool, has_later: bool) -> list[dict[str, Any]]:
    """Newest event times [low, high) of combinations that may be missing, and why."""
    found, longest, own = [], reach.query.longest_range, reach.own_span
    if outcome.shed_span is not None:
        low, high = outcome.shed_span
        tuples = sum(outcome.accounting.shed_tuples())
        found.append({"low": low, "high": high + longest, "why": "shed", "tuples": tuples})
    reaches = max(own.end, reach.part.end) + longest if has_later or own.end > reach.part.end else None
    if own.start < reach.part.start:
        reaches = max(reaches or 0, reach.part.start + longest)
    if is_new and reaches is not None and reaches > reach.part.end:
        count = sum(one.end - one.first for known in reach.own.values() for one in known)
        found.append({"low": reach.part.end, "high": reaches, "why": "changed input", "tuples": count})
    return found
