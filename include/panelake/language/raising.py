"""Which conditions of a WHERE can raise while they are evaluated, and why: those keep their place among the others.

In ANSI mode a cast that fails, a division by zero or an overflow is an error, and a condition written earlier may be
what guards against it. Known to be safe is what is listed here; everything else can raise. A condition that can raise
is a border: none crosses it, so that it meets exactly the tuples that pass all written before it, and a query raises
in every order or in none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from sqlglot import exp, parse_one

from panelake.filters.chain import Placed, bordered
from panelake.language.dialect import WindowSql, render
from panelake.language.safe_functions import MEANINGS, NUMBERS, PATTERN, SIGNATURES, WHOLE

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_KINDS = dict.fromkeys(_INTEGERS, "integer") | {"float": "double", "double": "double", "timestamp_ntz": "timestamp"}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}:\d{2}(\.\d{1,6})?)?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,9}", re.ASCII)
# Regular expressions that Java surely compiles and matches: Python must compile them too, and nothing stands in them
# that the two read differently; a repeated group may overflow Java's stack.
_ATOM = r"""(?:[\w \-:/,;=@%<>!"'~#.]|\\[dwsDWSb.\\/\-]|\[\^?(?:[\w .,:;/@%+\-]|\\[dws.\\\-])+\])"""
_PLAIN_PATTERN = re.compile(rf"(?:{_ATOM}(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})?|\)\??|\((?:\?:)?|[|^$])*", re.ASCII)


class _CanRaiseError(Exception):
    """Carries the reason up the tree."""


def placed(conditions: Iterable[str], types: Mapping[str, str], *, commutative: bool = False) -> tuple[Placed, ...]:
    """Checked Spark SQL conditions, in the order written, with their segments; commutative ones share one."""
    return bordered((condition, None if commutative else why_raises(condition, types)) for condition in conditions)


def why_raises(condition: str, types: Mapping[str, str]) -> str | None:
    """What can raise in a condition over columns of these Spark types; None if nothing can."""
    try:
        _Reader(types).kind(parse_one(condition, dialect=WindowSql))
    except _CanRaiseError as error:
        return str(error)
    return None


def kind_of(spark_type: str) -> str:
    """The kind of a Spark type: types of one kind compare without a cast that can fail."""
    lower = spark_type.lower()
    return "decimal" if lower.startswith("decimal") else _KINDS.get(lower, lower)


class _Reader:
    """Gives an expression's kind, bottom up, or raises the reason why its evaluation can."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self._types = types
        self._rules: dict[type[exp.Expr], Callable[..., str]] = {
            exp.Column: self._column, exp.Literal: _literal, exp.Null: _constant("null"),
            exp.Boolean: _constant("boolean"), exp.Paren: self._inner, exp.Not: self._logic, exp.And: self._logic,
            exp.Or: self._logic, exp.Is: self._is, exp.In: self._compared, exp.Between: self._compared,
            exp.Like: self._like, exp.ILike: self._like, exp.RegexpLike: self._matched,
            exp.Add: self._arithmetic, exp.Sub: self._arithmetic, exp.Mul: self._arithmetic, exp.Neg: self._arithmetic,
            exp.Div: self._divided, exp.Mod: self._divided, exp.IntDiv: self._divided, exp.DPipe: self._joined,
            exp.BitwiseAnd: self._bitwise, exp.BitwiseOr: self._bitwise, exp.BitwiseXor: self._bitwise,
            exp.BitwiseNot: self._bitwise, exp.Case: self._case, exp.Cast: self._cast, exp.TryCast: self._try_cast,
            exp.Anonymous: self._call,
        }  # fmt: skip
        comparisons = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
        self._rules |= dict.fromkeys(comparisons, self._compared)

    def kind(self, node: exp.Expr) -> str:
        rule = self._rules.get(type(node))
        if rule is None:
            raise _CanRaiseError(f"{render(node)} is not known to be safe")
        return rule(node)

    def _column(self, node: exp.Column) -> str:
        if node.name not in self._types:
            raise _CanRaiseError(f"the type of {render(node)} is not known")
        return kind_of(self._types[node.name])

    def _inner(self, node: exp.Paren) -> str:
        return self.kind(node.this)

    def _logic(self, node: exp.Expr) -> str:
        for side in _operands(node):
            self._require(side, ("boolean",))
        return "boolean"

    def _is(self, node: exp.Is) -> str:
        self.kind(node.this)
        return "boolean"

    def _compared(self, node: exp.Expr) -> str:
        if any(node.args.get(name) for name in ("query", "unnest", "field")):
            raise _CanRaiseError(f"{render(node)} is not known to be safe")
        self._common(_operands(node), render(node))
        return "boolean"

    def _like(self, node: exp.Expr) -> str:
        self._require(node.this, ("string",))
        if not _is_string(node.expression) or "\\" in node.expression.name:
            raise _CanRaiseError(f"{render(node)} has a pattern that may be malformed")
        return "boolean"

    def _matched(self, node: exp.Expr) -> str:
        self._require(node.this, ("string",))
        self._require_pattern(node.expression)
        return "boolean"

    def _arithmetic(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            return _literal(node.this)
        kinds = [self._require(side, NUMBERS) for side in _operands(node)]
        if "double" not in kinds:
            raise _CanRaiseError(f"{render(node)} may overflow")
        return "double"

    def _divided(self, node: exp.Expr) -> str:
        dividend = self._require(node.this, NUMBERS)
        divisor = node.expression
        whole = isinstance(divisor, exp.Literal) and not divisor.is_string and divisor.name.isdecimal()
        if not whole or int(divisor.name) == 0:
            raise _CanRaiseError(f"{render(node)} may divide by zero")
        if dividend == "decimal":
            raise _CanRaiseError(f"{render(node)} may overflow")
        return "double" if isinstance(node, exp.Div) else dividend

    def _joined(self, node: exp.Expr) -> str:
        for side in _operands(node):
            self._require(side, ("string",))
        return "string"

    def _bitwise(self, node: exp.Expr) -> str:
        for side in _operands(node):
            self._require(side, ("integer",))
        return "integer"

    def _case(self, node: exp.Case) -> str:
        branches = node.args["ifs"]
        if node.this is None:
            for branch in branches:
                self._require(branch.this, ("boolean",))
        else:
            self._common([node.this, *(branch.this for branch in branches)], render(node))
        default = node.args.get("default")
        results = [branch.args["true"] for branch in branches] + ([default] if default is not None else [])
        return self._common(results, render(node))

    def _cast(self, node: exp.Cast) -> str:
        source, target = self.kind(node.this), node.to.sql(dialect=WindowSql).lower()
        widened = source == "integer" and (kind_of(target) == "double" or target == "bigint")
        same = source == kind_of(target) and source in ("boolean", "date", "timestamp", "double")
        if target == "string" or widened or same or (source, target) == ("timestamp", "date"):
            return kind_of(target)
        raise _CanRaiseError(f"{render(node)} may fail")

    def _try_cast(self, node: exp.TryCast) -> str:
        self.kind(node.this)
        return kind_of(node.to.sql(dialect=WindowSql))

    def _call(self, node: exp.Anonymous) -> str:
        """The kind of a safe function's value; `a` stands for any kind, the same in all places."""
        arguments = node.expressions
        signature = SIGNATURES.get(node.name.lower())
        if signature is None or not signature.takes(len(arguments)):
            raise _CanRaiseError(f"{render(node)} may raise")
        common = [
            argument
            for argument, code in zip(arguments, signature.codes(len(arguments)), strict=True)
            if not self._is_accepted(argument, code)
        ]
        kind = self._common(common, render(node)) if common else "null"
        return MEANINGS.get(signature.result, (kind,))[0]

    def _is_accepted(self, argument: exp.Expr, code: str) -> bool:
        """Whether the argument is checked by its code alone."""
        if code == PATTERN:
            self._require_pattern(argument)
        elif code == WHOLE:
            _require_whole(argument)
        elif code in MEANINGS:
            self._require(argument, MEANINGS[code])
        return code != "a"

    def _require(self, node: exp.Expr, kinds: Sequence[str]) -> str:
        kind = self.kind(node)
        if kind not in (*kinds, "null"):
            raise _CanRaiseError(f"{render(node)} is {kind} where only {' or '.join(kinds)} is known to be safe")
        return kind

    def _require_pattern(self, node: exp.Expr) -> None:
        if not _is_string(node) or not _compiles(node.name):
            raise _CanRaiseError(f"the pattern {render(node)} may be malformed")

    def _common(self, nodes: Sequence[exp.Expr], shown: str) -> str:
        """The kind all nodes share; literals may be read as another's kind if they surely can be."""
        kinds = [self.kind(node) for node in nodes]
        known = [kind for node, kind in zip(nodes, kinds, strict=True) if kind != "null" and not _is_string(node)]
        wanted = known[0] if known else "string" if "string" in kinds else "null"
        for one, other in pairwise(known):
            if one != other and not {one, other} <= set(NUMBERS):
                raise _CanRaiseError(f"{shown} takes {one} and {other} together, which casts and may fail")
        for node in nodes:
            if _is_string(node) and not _reads_as(node.name, wanted):
                raise _CanRaiseError(f"{shown} casts {render(node)} to {wanted}, which may fail")
        return "double" if "double" in known else wanted


def _operands(node: exp.Expr) -> list[exp.Expr]:
    operands = [node.this, *(node.args.get(name) for name in ("expression", "low", "high"))]
    return [operand for operand in operands if operand is not None] + list(node.expressions)


def _constant(kind: str) -> Callable[[exp.Expr], str]:
    return lambda _node: kind


def _literal(node: exp.Literal) -> str:
    if node.is_string:
        return "string"
    if node.name.isdecimal():
        return "integer"
    return "double" if "e" in node.name.lower() else "decimal"


def _require_whole(node: exp.Expr) -> None:
    if not _WHOLE.fullmatch(render(node)):
        raise _CanRaiseError(f"{render(node)} may not fit an int")


def _is_string(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _reads_as(text: str, kind: str) -> bool:
    """Whether Spark surely reads a string literal as this kind."""
    if kind in NUMBERS:
        return _WHOLE.fullmatch(text) is not None
    if kind not in ("date", "timestamp"):
        return kind == "string"
    try:
        return _DATE.fullmatch(text) is not None and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _compiles(pattern: str) -> bool:
    if _PLAIN_PATTERN.fullmatch(pattern) is None:
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
