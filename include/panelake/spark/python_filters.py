"""Functions of filters.py as Spark columns: their text goes to the workers, which alone run it, batch by batch.

Functions that follow one another in the chain are one column, so that tuples go to Python and back once; between
batches they change places as arrow_filters.py learns. The column is declared nondeterministic: Spark would else move
conditions before it, or run it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.language.stream_filters import StreamFilter
from panelake.spark.python_worker import BITS, SECONDS, PythonRun

__all__ = ["BITS", "SECONDS", "judged_by", "probed_by"]


def judged_by(source: str, filters: Sequence[StreamFilter], wanted: Column) -> Column:
    """Outcomes as `judge_batch` gives them, for `wanted` as it takes it."""
    run = _run(source, filters)
    return _called(run, run.judge, "bigint", wanted)


def probed_by(source: str, filters: Sequence[StreamFilter], wanted: Column) -> Column:
    """The outcomes, and the seconds a tuple of each filter as an array: the same for all tuples of a batch."""
    run = _run(source, filters)
    return _called(run, run.probe, f"{BITS} bigint, {SECONDS} array<double>", wanted)


def _run(source: str, filters: Sequence[StreamFilter]) -> PythonRun:
    return PythonRun(source, tuple((known.function, known.parameters, known.commutative) for known in filters))


def _called(run: PythonRun, method: Callable[..., Any], kind: str, wanted: Column) -> Column:
    """Only tuples that are wanted carry their columns to Python."""

    def called(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        yield from method(batches)

    asked = wanted.cast("int")
    columns = [F.when(asked > 0, F.col(f"`{name}`")) for name in run.columns]
    return F.arrow_udf(called, kind).asNondeterministic()(asked, *columns)
