"""Checks expressions against what is allowed, and spells their names as the schema does.

What is not named here is refused: a new syntax of the SQL parser can never slip through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from panelake.language import aggregates, functions
from panelake.language.columns import Columns, spelling_in
from panelake.language.dialect import render
from panelake.language.join_columns import JoinColumns
from panelake.language.problems import ProblemList
from panelake.language.source_text import SourceText

_PREDICATES = (exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Not)
_CONNECTORS = (exp.And, exp.Or)
_OPERATORS = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.DPipe,
    exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot,
)  # fmt: skip
_PLAIN = frozenset((*_PREDICATES, *_CONNECTORS, *_OPERATORS, exp.Paren, exp.Case, exp.If, exp.Null, exp.Boolean))
_OPERAND_PLACES = (*_OPERATORS, exp.Is, exp.Between, exp.Like, exp.ILike, exp.RegexpLike)
_TYPES = re.compile(
    r"BOOLEAN|TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL(\(\d+(, \d+)?\))?|STRING|BINARY|DATE|TIMESTAMP(_NTZ)?"
)
_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_UNITS = re.compile(r"(YEAR|MONTH|WEEK|DAY|HOUR|MINUTE|SECOND|MILLISECOND|MICROSECOND)S?")
_CLOCK_WORDS = frozenset(("now", "today", "tomorrow", "yesterday", "epoch"))
_WORDS = {
    exp.Subquery: "a subquery", exp.Select: "a subquery", exp.Exists: "a subquery", exp.SetOperation: "a subquery",
    exp.Window: "a window function (OVER)", exp.Filter: "FILTER", exp.Star: "*", exp.Tuple: "a list of values",
    exp.Lambda: "a lambda", exp.Placeholder: "a parameter", exp.Parameter: "a parameter",
    exp.Concat: "adjacent strings", exp.Dot: "a field of a struct",
    exp.Rollup: "GROUP BY ROLLUP", exp.Cube: "GROUP BY CUBE", exp.GroupingSets: "GROUP BY GROUPING SETS",
}  # fmt: skip
_ADVICE = {
    exp.Window: "the window is given once, after the stream in FROM",
    exp.Filter: "write the condition inside: sum(CASE WHEN … THEN x END)",
    exp.Concat: "join strings with || or concat()",
}


@dataclass(frozen=True)
class Place:
    """Where an expression stands: whether it may aggregate, and which aliases it may name."""

    name: str
    may_aggregate: bool = False
    aliases: Mapping[str, exp.Expr] = field(default_factory=dict)


_INSIDE_AGGREGATE = Place("an aggregate")
_Pending = list[tuple[exp.Expr, Place]]


@dataclass(frozen=True)
class ExpressionChecker:
    """Checks one query's expressions in place, top down, recording every problem."""

    source: SourceText
    columns: Columns | JoinColumns
    problems: ProblemList

    def check(self, root: exp.Expr, place: Place) -> bool:
        """Whether a whole expression is right; its columns become quoted and spelled as in the schema."""
        before = self.problems.count
        pending = [(root, place)]
        while pending:
            node, where = pending.pop()
            pending += self._check_node(node, where)
        return self.problems.count == before

    def _check_node(self, node: exp.Expr, place: Place) -> _Pending:
        special = self._special(node)
        if special is not None:
            return special(node, place)
        if type(node) not in _PLAIN:
            return self._refuse(node)
        self._check_plain(node)
        return _children(node, place)

    def _special(self, node: exp.Expr) -> Callable[[exp.Expr, Place], _Pending] | None:
        checks: dict[type[exp.Expr], Callable[[exp.Expr, Place], _Pending]] = {
            exp.Column: self._check_column,
            exp.Anonymous: self._check_call,
            exp.Literal: self._check_literal,
            exp.Cast: self._check_cast,
            exp.TryCast: self._check_cast,
            exp.Interval: self._check_interval,
        }
        return checks.get(type(node))

    def _refuse(self, node: exp.Expr) -> _Pending:
        word = next((_WORDS[kind] for kind in _WORDS if isinstance(node, kind)), type(node).__name__.upper())
        advice = next(
            (_ADVICE[kind] for kind in _ADVICE if isinstance(node, kind)), "use columns, operators and functions"
        )
        self.problems.add_node(node, f"{word} is not supported here; {advice}")
        return []

    def _check_plain(self, node: exp.Expr) -> None:
        # sqlglot and Spark read `a = b IS NULL` differently: only brackets make it the same for both.
        if isinstance(node, _PREDICATES) and _is_bare_operand(node):
            self.problems.add_node(node, f"put brackets around {_shown(node)}: what it binds to is not clear")
        if isinstance(node, exp.Between) and node.args.get("symmetric") is not None:
            self.problems.add_node(node, "BETWEEN SYMMETRIC is not supported; write the smaller bound first")
        if isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null | exp.Boolean):
            self.problems.add_node(node, f"{_shown(node)} is not supported; expected IS NULL, IS TRUE or IS FALSE")

    def _check_column(self, column: exp.Expr, place: Place) -> _Pending:
        if not isinstance(column, exp.Column):
            return self._refuse(column)
        alias = None if column.table else spelling_in(column.name, place.aliases)
        if alias is not None:
            column.replace(_bracketed(place.aliases[alias]))
            return []
        problem = self.columns.problem(column)
        if problem is not None:
            self.problems.add_node(column, problem)
            return []
        column.this.set("this", self.columns.resolved(column))
        column.this.set("quoted", True)  # noqa: FBT003 (sqlglot's own signature)
        column.set("table", None)
        return []

    def _check_call(self, call: exp.Expr, place: Place) -> _Pending:
        if not isinstance(call, exp.Anonymous):
            return self._refuse(call)
        name = aggregates.function_name(call)
        call.set("this", name)
        if aggregates.is_aggregate(call):
            return self._check_aggregate(call, place)
        problem = aggregates.refusal(name) or functions.call_problem(name, len(call.expressions))
        if problem is not None:
            self.problems.add_node(call, problem)
            return []
        return _children(call, place)

    def _check_aggregate(self, call: exp.Anonymous, place: Place) -> _Pending:
        problem = aggregates.argument_problem(call) or self._kind_problem(call)
        if not place.may_aggregate:
            advice = "; use HAVING to select by it" if place.name == "WHERE" else ""
            problem = f"the aggregate {call.name}() cannot stand in {place.name}{advice}"
        if problem is not None:
            self.problems.add_node(call, problem)
            return []
        return [] if isinstance(call.expressions[0], exp.Star) else [(call.expressions[0], _INSIDE_AGGREGATE)]

    def _kind_problem(self, call: exp.Anonymous) -> str | None:
        """Why an aggregate cannot take a column of this type; expressions are left to Spark."""
        column = unwrap(call.expressions[0])
        spelling = self.columns.spelling(column.name) if isinstance(column, exp.Column) else None
        kind = self.columns.schema[spelling] if spelling else ""
        if not kind or not aggregates.needs_number(call) or aggregates.is_number(kind):
            return None
        name = aggregates.function_name(call)
        return f"{name}() needs a number, and {spelling!r} is a {kind}; cast it, or use count, min or max"

    def _check_literal(self, literal: exp.Expr, place: Place) -> _Pending:  # noqa: ARG002 (one signature)
        if literal.is_string:
            literal.set("this", self.source.literal(literal.name))
        elif not _NUMBER.fullmatch(literal.name):
            self.problems.add_node(literal, f"{literal.name} is not a number; expected one such as 12, 1.5 or 1e3")
        return []

    def _check_cast(self, cast: exp.Expr, place: Place) -> _Pending:
        target = render(cast.args["to"])
        if not _TYPES.fullmatch(target) or cast.args.get("format") or cast.args.get("default"):
            self.problems.add_node(
                cast, f"CAST to {target} is not supported; expected a plain type such as INT or DECIMAL(10, 2)"
            )
        elif cast.this.is_string and self.source.literal(cast.this.name).strip().lower() in _CLOCK_WORDS:
            word = self.source.literal(cast.this.name)
            self.problems.add_node(cast, f"{word!r} as a time depends on the clock; write a date")
        return [(cast.this, place)]

    def _check_interval(self, interval: exp.Expr, place: Place) -> _Pending:
        amount, unit = interval.this, interval.args.get("unit")
        number = self.source.literal(amount.name) if isinstance(amount, exp.Literal) else ""
        if isinstance(unit, exp.Var) and _UNITS.fullmatch(unit.name.upper()) and re.fullmatch("[0-9]{1,15}", number):
            return [(amount, place)]
        self.problems.add_node(interval, "INTERVAL expects a whole number and a unit, such as INTERVAL 5 MINUTES")
        return []


def unwrap(expression: exp.Expr) -> exp.Expr:
    """The expression inside any number of brackets."""
    while isinstance(expression, exp.Paren):
        expression = expression.this
    return expression


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The parts of a condition joined by AND at the top, in the order written."""
    found, pending = [], [condition]
    while pending:
        node = pending.pop()
        inner = unwrap(node)
        if isinstance(inner, exp.And):
            pending += [inner.expression, inner.this]
        else:
            found.append(exp.Paren(this=inner.copy()) if isinstance(inner, exp.Or) else inner)
    return found


def _children(node: exp.Expr, place: Place) -> _Pending:
    return [(child, place) for child in node.iter_expressions()]


def _is_bare_operand(node: exp.Expr) -> bool:
    parent = node.parent
    if isinstance(node, exp.Like | exp.ILike) and isinstance(parent, exp.Escape):
        return False
    return isinstance(parent, _OPERAND_PLACES) or (isinstance(parent, exp.In) and parent.this is node)


def _bracketed(expression: exp.Expr) -> exp.Expr:
    copy = expression.copy()
    return copy if isinstance(copy, exp.Column | exp.Anonymous) else exp.Paren(this=copy)


def _shown(node: exp.Expr) -> str:
    return node.sql(dialect="spark", normalize_functions=False)
