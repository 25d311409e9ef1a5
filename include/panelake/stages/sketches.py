"""Windows of sketches: bytes that only Spark can merge, so each pane goes to every window that holds it.

The cost is range / slide merges a pane, where the kernel's is constant: the price of an approximate aggregate.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.aggregates import State
from panelake.spark.slide import END, QUERY, SET, WindowTask
from panelake.stages.panes import union


def sketches_of(task: WindowTask) -> tuple[State, ...]:
    """The task's states that are sketches."""
    return tuple(state for state in task.states if state.fold == "sketch")


def with_sketches(windows: DataFrame, panes: DataFrame, tasks: Sequence[WindowTask]) -> DataFrame:
    """The window rows with the merged sketches of the tasks that have any."""
    sketched = [task for task in tasks if sketches_of(task)]
    if not sketched:
        return windows
    merged = union([_merged(panes, task) for task in sketched]).alias("merged")
    keys = sorted({key for task in sketched for key in task.keys})
    same = reduce(lambda one, key: one & _same(key), keys, _equal(QUERY) & _equal(END))
    states = sorted({state.column for task in sketched for state in sketches_of(task)})
    joined = windows.alias("windows").join(merged, same, "left")
    return joined.select("windows.*", *[F.col(f"merged.{state}").alias(state) for state in states])


def _merged(panes: DataFrame, task: WindowTask) -> DataFrame:
    """One row per window and group of a task: `_query`, `_window_end`, keys, sketches."""
    mine = panes.where(F.col(SET) == task.pane_set)
    numbered = mine.withColumn("_k", F.explode(_holding(task)))
    merged = numbered.groupBy(*task.keys, "_k").agg(
        *[F.expr(state.merge()).alias(state.column) for state in sketches_of(task)]
    )
    end = (F.col("_k") * task.window.slide + task.window.shift).alias(END)
    columns = [*task.keys, *(state.column for state in sketches_of(task))]
    return merged.select(F.lit(task.query).alias(QUERY), end, *columns)


def _holding(task: WindowTask) -> Column:
    """The windows k of the task that hold a pane, as an array; empty where it lies in a gap."""
    window, at = task.window, F.col(task.position)
    low = F.greatest(_first_with(at, task), F.lit(task.first))
    high = F.least(_first_with(at + window.range, task) - 1, F.lit(task.last - 1))
    return F.when(low <= high, F.sequence(low, high)).otherwise(F.array().cast("array<bigint>"))


def _first_with(at: Column, task: WindowTask) -> Column:
    """The least k whose window ends after the position, as in WindowSpec; exact in whole numbers."""
    from_shift = at - task.window.shift
    return F.call_function("div", from_shift, F.lit(task.window.slide)) + 1


def _equal(column: str) -> Column:
    return F.col(f"windows.{column}") == F.col(f"merged.{column}")


def _same(key: str) -> Column:
    return F.col(f"windows.{key}").eqNullSafe(F.col(f"merged.{key}"))
