"""Aggregates as lift, combine and lower: all that panes and windows know of them.

A `State` is one mergeable column: `lift` makes it from tuples, `fold` says how two become one. An aggregate names the
states it needs and how they are lowered to its value. Queries that need the same state share its column.
Adding an aggregate is one class here and its name in AGGREGATES.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from panelake.language.query import AggregateCall, AggregateQuery

_WIDEST = 38
Fold = Literal["add", "min", "max", "moments", "sketch"]
# Sketches' sizes: distinct counts within about 1.6 %, ranks of percentiles within about 0.5 % (both one sigma).
_HLL_BITS = 12
_KLL_SIZE = 350


@dataclass(frozen=True)
class State:
    """One column of panes: a function of an expression over the tuples that meet all conditions.

    Columns of kind `mean` and `m2` fold together with the `count` they share an argument with; sketches are bytes that
    only Spark can merge.
    """

    kind: Literal["count", "sum", "min", "max", "mean", "m2", "hll", "kll"]
    argument: str | None
    conditions: tuple[str, ...]

    @property
    def column(self) -> str:
        """A name that is the same wherever the same state is meant, and differs where any part differs."""
        meaning = "\0".join((self.kind, self.argument or "*", *sorted(self.conditions)))
        return f"s_{self.kind}_{hashlib.sha256(meaning.encode()).hexdigest()[:16]}"

    @property
    def fold(self) -> Fold:
        folds: dict[str, Fold] = {
            "min": "min", "max": "max", "mean": "moments", "m2": "moments", "hll": "sketch", "kll": "sketch",
        }  # fmt: skip
        return folds.get(self.kind, "add")

    def merge(self) -> str:
        """Spark SQL that makes one sketch of many."""
        functions = {"hll": "hll_union_agg", "kll": "kll_merge_agg_double"}
        return f"{functions[self.kind]}({self.column})"

    def lift(self, ordered: Sequence[str] | None = None) -> str:
        """Spark SQL that makes the state from tuples; conditions are evaluated as written, or as `ordered`."""
        value = self._value(self.conditions if ordered is None else ordered)
        if self.kind == "mean":
            return f"avg(CAST({value} AS DOUBLE))"
        if self.kind == "m2":
            return f"var_pop(CAST({value} AS DOUBLE)) * count({value})"
        if self.kind == "hll":
            return f"hll_sketch_agg(CAST({value} AS STRING), {_HLL_BITS})"
        if self.kind == "kll":
            return f"kll_sketch_agg_double(CAST({value} AS DOUBLE), {_KLL_SIZE})"
        return f"{self.kind}({value})"

    def _value(self, conditions: Sequence[str]) -> str:
        value = self.argument or "1"
        if not conditions:
            return value
        return f"CASE WHEN {' AND '.join(f'({condition})' for condition in conditions)} THEN {value} END"


class Aggregate(Protocol):
    """The states an aggregate needs, and its value as Spark SQL over their columns."""

    def states(self, call: AggregateCall, conditions: tuple[str, ...]) -> tuple[State, ...]: ...

    def lower(self, call: AggregateCall, states: tuple[State, ...], types: Mapping[str, str]) -> str: ...


@dataclass(frozen=True)
class Direct:
    """An aggregate that is its own state: count, sum, min, max."""

    kind: Literal["count", "sum", "min", "max"]

    def states(self, call: AggregateCall, conditions: tuple[str, ...]) -> tuple[State, ...]:
        return (State(self.kind, call.argument, conditions),)

    def lower(self, call: AggregateCall, states: tuple[State, ...], types: Mapping[str, str]) -> str:  # noqa: ARG002
        return states[0].column


class Average:
    """sum / count: an average itself cannot be merged."""

    def states(self, call: AggregateCall, conditions: tuple[str, ...]) -> tuple[State, ...]:
        return State("sum", call.argument, conditions), State("count", call.argument, conditions)

    def lower(self, call: AggregateCall, states: tuple[State, ...], types: Mapping[str, str]) -> str:  # noqa: ARG002
        total, number = (state.column for state in states)
        if not types[total].startswith("decimal"):
            return f"try_divide(CAST({total} AS DOUBLE), {number})"
        digits, scale = (int(part) for part in types[total].removeprefix("decimal(").removesuffix(")").split(","))
        # A sum has ten digits more than its values, capped at 38; an average has four more, behind the point.
        precision = _WIDEST if digits == _WIDEST else digits - 6
        return f"CAST(try_divide({total}, {number}) AS DECIMAL({precision},{min(precision, scale + 4)}))"


@dataclass(frozen=True)
class Spread:
    """Sample variance or deviation from count, mean and squared distances; NULL for fewer than two values."""

    root: bool

    def states(self, call: AggregateCall, conditions: tuple[str, ...]) -> tuple[State, ...]:
        return tuple(State(kind, call.argument, conditions) for kind in ("count", "mean", "m2"))

    def lower(self, call: AggregateCall, states: tuple[State, ...], types: Mapping[str, str]) -> str:  # noqa: ARG002
        number, _, squares = (state.column for state in states)
        variance = f"try_divide({squares}, CAST({number} - 1 AS DOUBLE))"
        value = f"sqrt({variance})" if self.root else variance
        return f"CASE WHEN {number} > 1 THEN {value} END"


class DistinctCount:
    """A HyperLogLog sketch of the values' text form, which tells values of every type apart."""

    def states(self, call: AggregateCall, conditions: tuple[str, ...]) -> tuple[State, ...]:
        return (State("hll", call.argument, conditions),)

    def lower(self, call: AggregateCall, states: tuple[State, ...], types: Mapping[str, str]) -> str:  # noqa: ARG002
        return f"coalesce(hll_sketch_estimate({states[0].column}), 0)"


class Percentile:
    """A KLL sketch of the values as doubles; NULL where there is no value."""

    def states(self, call: AggregateCall, conditions: tuple[str, ...]) -> tuple[State, ...]:
        return (State("kll", call.argument, conditions),)

    def lower(self, call: AggregateCall, states: tuple[State, ...], types: Mapping[str, str]) -> str:  # noqa: ARG002
        sketch, (fraction,) = states[0].column, call.parameters
        quantile = f"kll_sketch_get_quantile_double({sketch}, CAST({fraction!r} AS DOUBLE))"
        return f"CASE WHEN kll_sketch_get_n_double({sketch}) > 0 THEN {quantile} END"


AGGREGATES: dict[str, Aggregate] = {
    "count": Direct("count"),
    "sum": Direct("sum"),
    "min": Direct("min"),
    "max": Direct("max"),
    "avg": Average(),
    "var_samp": Spread(root=False),
    "stddev_samp": Spread(root=True),
    "approx_count_distinct": DistinctCount(),
    "approx_percentile": Percentile(),
}


def presence(query: AggregateQuery) -> State:
    """The number of tuples that pass the query's WHERE: a window without any has no row."""
    return State("count", None, query.conditions)


def states_of(query: AggregateQuery) -> tuple[State, ...]:
    """Every distinct state the query needs, its presence first."""
    needed = [presence(query)]
    for call in query.calls:
        needed += AGGREGATES[call.function].states(call, query.conditions)
    return tuple(dict.fromkeys(needed))


def lowered(query: AggregateQuery, types: Mapping[str, str]) -> dict[str, str]:
    """Spark SQL for the query's placeholders `_a0`, `_a1`, … over state columns of the given Spark types."""
    values = {}
    for number, call in enumerate(query.calls):
        aggregate = AGGREGATES[call.function]
        values[f"_a{number}"] = aggregate.lower(call, aggregate.states(call, query.conditions), types)
    return values
