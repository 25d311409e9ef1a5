"""Functions of filters.py as Spark columns: their text goes to the workers, which alone run it, batch by batch.

Functions that follow one another in the chain are one column, so that tuples go to Python and back once; between
batches they change places as arrow_filters.py learns. The column is declared nondeterministic: Spark would else move
conditions before it, or run it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.errors import BadInputError
from panelake.filters.python_source import FILTERS_FILE
from panelake.filters.statistics import resume
from panelake.language.stream_filters import StreamFilter
from panelake.spark.arrow_filters import Predicate, judge_batch, placed_predicates, time_batch


def judged_by(source: str, filters: Sequence[StreamFilter], known: Mapping[str, Any] | None, wanted: Column) -> Column:
    """Outcomes as `judge_batch` gives them, for `wanted` as it takes it; `known` are statistics of these filters."""

    def judge(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        predicates = loaded(source, filters)
        statistics = resume(known, placed_predicates(predicates))
        for asked, *columns in batches:
            answer = judge_batch(_batch(filters, columns), asked.to_numpy(), predicates, statistics)
            statistics = answer.statistics
            yield pa.array(answer.outcomes)

    return _called(judge, "bigint", filters, wanted)


def timed_by(source: str, filters: Sequence[StreamFilter]) -> Column:
    """Seconds a tuple of each filter, an array: the same for all tuples of a batch."""

    def take_time(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        predicates = loaded(source, filters)
        for asked, *columns in batches:
            costs = time_batch(_batch(filters, columns), predicates)
            yield pa.array([costs] * len(asked), pa.list_(pa.float64()))

    return _called(take_time, "array<double>", filters, F.lit(1))


def loaded(source: str, filters: Sequence[StreamFilter]) -> list[Predicate]:
    """The functions of the text; it is compiled once a worker."""
    names = _namespace(source)
    return [Predicate(known.function, _over_batch(names, known), known.commutative) for known in filters]


@lru_cache(maxsize=8)
def _namespace(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "filters"}
    try:
        exec(compile(source, FILTERS_FILE, "exec"), names)  # noqa: S102 - the user's own file, on the user's workers
    except Exception as error:
        raise BadInputError(f"{FILTERS_FILE}: cannot be loaded: {type(error).__name__}: {error}") from error
    return names


def _over_batch(names: Mapping[str, Any], known: StreamFilter) -> Callable[[pa.RecordBatch], pa.Array]:
    function = names[known.function]
    return lambda rows: function(*(rows[parameter] for parameter in known.parameters))


def _parameters(filters: Sequence[StreamFilter]) -> list[str]:
    return list(dict.fromkeys(name for known in filters for name in known.parameters))


def _batch(filters: Sequence[StreamFilter], columns: Sequence[pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns), names=_parameters(filters))


def _called(function: Callable[..., Any], kind: str, filters: Sequence[StreamFilter], wanted: Column) -> Column:
    """Only tuples that are wanted carry their columns to Python."""
    asked = wanted.cast("int")
    columns = [F.when(asked > 0, F.col(f"`{name}`")) for name in _parameters(filters)]
    called = F.arrow_udf(function, kind).asNondeterministic()
    return called(asked, *columns)
