"""Whether a condition is one: what is certainly no truth value is refused here, before Spark would refuse the slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from panelake.language.aggregates import is_aggregate
from panelake.language.dialect import render
from panelake.language.problems import ProblemList

_COUNTING = (
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe,
    exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.Interval,
)  # fmt: skip
_OF_TRUTH = ("min", "max")  # the aggregates that give back what they are given


def check_condition(condition: exp.Expr, schema: Mapping[str, str], where: str, problems: ProblemList) -> None:
    """Record every part joined by AND, OR and NOT that is a number, a text or a time."""
    for part in _parts(condition):
        kind = _kind(part, schema)
        if kind is not None:
            shown = render(part).replace("`", "")
            problems.add_node(part, f"{shown} in {where} is {kind}, not a condition; compare it: {shown} > 0")


def _parts(condition: exp.Expr) -> Iterator[exp.Expr]:
    pending = [condition]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Paren | exp.Not):
            pending.append(node.this)
        elif isinstance(node, exp.And | exp.Or):
            pending += [node.expression, node.this]
        else:
            yield node


def _kind(node: exp.Expr, schema: Mapping[str, str]) -> str | None:
    """What a node gives where that is certainly no truth value; functions and CASE are left to Spark."""
    if isinstance(node, exp.Literal):
        return "a text" if node.is_string else "a number"
    if isinstance(node, _COUNTING):
        return "a value"
    if isinstance(node, exp.Column):
        return _of_type(schema.get(node.name, "boolean"))
    if isinstance(node, exp.Cast | exp.TryCast):
        return _of_type(render(node.args["to"]).lower())
    if is_aggregate(node) and node.name.lower() not in _OF_TRUTH:
        return "a number"
    return None


def _of_type(kind: str) -> str | None:
    if kind == "boolean":
        return None
    return f"an {kind}" if kind.startswith("int") else f"a {kind}"
