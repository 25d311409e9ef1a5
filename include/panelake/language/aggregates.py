"""The aggregates a query may use: those whose panes can be merged into a window's answer."""

from __future__ import annotations

from sqlglot import exp

from panelake.language.dialect import render
from panelake.language.query import AggregateCall

SUPPORTED = (
    "count(*), count(x), sum, min, max, avg, var_samp, stddev_samp, approx_count_distinct(x), approx_percentile(x, p)"
)
_CANONICAL = {
    "count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "avg", "mean": "avg",
    "var_samp": "var_samp", "variance": "var_samp",
    "stddev_samp": "stddev_samp", "stddev": "stddev_samp", "std": "stddev_samp",
    "approx_count_distinct": "approx_count_distinct",
    "approx_percentile": "approx_percentile", "percentile_approx": "approx_percentile",
}  # fmt: skip
_NOT_MERGEABLE = """
median mode percentile percentile_cont percentile_disc first first_value last last_value any_value nth_value
collect_list collect_set array_agg listagg string_agg histogram_numeric
"""
_NOT_OFFERED = """
bit_and bit_or bit_xor bool_and bool_or every some any corr count_if count_min_sketch covar_pop covar_samp grouping
grouping_id kurtosis max_by min_by product regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy skewness std_pop stddev_pop sum_distinct try_avg try_sum var_pop bitmap_construct_agg
bitmap_or_agg hll_sketch_agg hll_union_agg
"""


_NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double")
_OF_NUMBERS = ("sum", "avg", "var_samp", "stddev_samp", "approx_percentile")


def needs_number(call: exp.Anonymous) -> bool:
    """Whether the aggregate is one of numbers alone."""
    return _CANONICAL[function_name(call)] in _OF_NUMBERS


def is_number(kind: str) -> bool:
    """Whether a stream's column of this Spark type holds numbers."""
    return kind in _NUMERIC or kind.startswith("decimal")


def function_name(call: exp.Anonymous) -> str:
    """A call's function in lower case, whether written with or without backticks."""
    return call.name.lower()


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node calls a supported aggregate, under any of its spellings."""
    return isinstance(node, exp.Anonymous) and function_name(node) in _CANONICAL


def refusal(name: str) -> str | None:
    """Why this aggregate cannot be used; None if the name is no aggregate known to Spark."""
    if name in _NOT_MERGEABLE.split():
        return f"{name}() is not mergeable: panes cannot be combined into its answer; supported: {SUPPORTED}"
    if name in _NOT_OFFERED.split():
        return f"{name}() is not among the mergeable aggregates that panes keep; supported: {SUPPORTED}"
    return None


def argument_problem(call: exp.Anonymous) -> str | None:
    """What is wrong with an aggregate's arguments; None if nothing."""
    name = function_name(call)
    arguments = call.expressions
    if any(isinstance(argument, exp.Distinct) for argument in arguments):
        return f"{name}(DISTINCT …) is not mergeable; use approx_count_distinct(x), or one of: {SUPPORTED}"
    if any(isinstance(argument, exp.Star) for argument in arguments) and name != "count":
        return f"{name}(*) has no argument; expected {name}(x)"
    if _CANONICAL[name] == "approx_percentile":
        return _percentile_problem(name, arguments)
    if len(arguments) != 1:
        return f"{name}() has {len(arguments)} arguments; expected one, {name}(x)"
    return None


def _percentile_problem(name: str, arguments: list[exp.Expr]) -> str | None:
    if len(arguments) == 2 and _fraction(arguments[1]) is not None:  # noqa: PLR2004 (x and p)
        return None
    return f"{name}() expects a value and one number from 0 to 1: {name}(x, 0.95)"


def _fraction(node: exp.Expr) -> float | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    value = float(node.name)
    return value if 0 <= value <= 1 else None


def to_call(call: exp.Anonymous) -> AggregateCall:
    """The aggregate a checked node asks for; synonyms give the same one."""
    function = _CANONICAL[function_name(call)]
    first = call.expressions[0]
    if isinstance(first, exp.Star):
        return AggregateCall(function, None)
    fraction = _fraction(call.expressions[1]) if function == "approx_percentile" else None
    return AggregateCall(function, render(first), () if fraction is None else (fraction,))
