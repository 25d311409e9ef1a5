"""What Spark's workers run for functions of filters.py. Light to import, since every new worker does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panelake.errors import BadInputError
from panelake.filters.statistics import start
from panelake.spark.arrow_filters import Predicate, judge_batch, placed_predicates, time_batch

BITS, SECONDS = "bits", "seconds"


@dataclass(frozen=True)
class PythonRun:
    """Functions that follow one another, by name, with their columns, and whether they are commutative."""

    source: str
    functions: tuple[tuple[str, tuple[str, ...], bool], ...]

    @property
    def columns(self) -> list[str]:
        """All columns that the functions read, each once."""
        return list(dict.fromkeys(name for _, parameters, _ in self.functions for name in parameters))

    def predicates(self) -> list[Predicate]:
        """The functions, loaded from the text; it is compiled once a worker."""
        names = _namespace(self.source)
        return [
            Predicate(name, _over_batch(names[name], parameters), commutative)
            for name, parameters, commutative in self.functions
        ]

    def judge(self, batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        """Outcomes as `judge_batch` gives them; the order is learned from batch to batch."""
        predicates = self.predicates()
        statistics = start(placed_predicates(predicates))
        for wanted, *columns in batches:
            answer = judge_batch(self._batch(columns), wanted.to_numpy(), predicates, statistics)
            statistics = answer.statistics
            yield pa.array(answer.outcomes)

    def probe(self, batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        """Outcomes, and the seconds a wanted tuple of each function: the same for all tuples of a batch."""
        predicates = self.predicates()
        statistics = start(placed_predicates(predicates))
        for wanted, *columns in batches:
            rows = self._batch(columns)
            outcomes = pa.array(judge_batch(rows, wanted.to_numpy(), predicates, statistics).outcomes)
            costs = time_batch(rows.filter(pc.greater(wanted, 0)), predicates)
            seconds = pa.array([costs] * len(wanted), pa.list_(pa.float64()))
            yield pa.StructArray.from_arrays([outcomes, seconds], [BITS, SECONDS])

    def _batch(self, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(list(columns), names=self.columns)


@lru_cache(maxsize=8)
def _namespace(source: str) -> Mapping[str, Any]:
    names: dict[str, Any] = {"__name__": "filters"}
    try:
        exec(compile(source, "filters.py", "exec"), names)  # noqa: S102 - the user's own file, on the user's workers
    except Exception as error:
        raise BadInputError(f"filters.py: cannot be loaded: {type(error).__name__}: {error}") from error
    return names


def _over_batch(function: Callable[..., pa.Array], parameters: Sequence[str]) -> Callable[[pa.RecordBatch], pa.Array]:
    return lambda rows: function(*(rows[parameter] for parameter in parameters))
