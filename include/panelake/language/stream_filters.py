"""Stream-level filters: a condition of streams.yaml, checked as a query's WHERE is, and lowered to Spark SQL."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from panelake.errors import Problem, WorkspaceError
from panelake.filters.chain import Placed, bordered
from panelake.filters.python_source import FILTERS_FILE, PythonSource, predicate_problems
from panelake.language.columns import Columns
from panelake.language.conditions import check_condition
from panelake.language.dialect import WindowSql, render
from panelake.language.expressions import ExpressionChecker, Place
from panelake.language.problems import ProblemList
from panelake.language.raising import why_raises
from panelake.language.source_text import SourceText
from panelake.streams import Condition, Stream
from panelake.yamlfile import KeyPath, YamlFile

_SHAPE = "expected one condition over the stream's columns, such as speed >= 0"


@dataclass(frozen=True)
class StreamFilter:
    """A filter as it runs: checked Spark SQL, or a function of filters.py with the columns it reads and its digest."""

    text: str
    sql: str
    function: str = ""
    parameters: tuple[str, ...] = ()
    digest: str = ""
    commutative: bool = False

    @property
    def condition(self) -> str:
        """What statistics know it by: another after a change of its meaning."""
        return self.sql or f"{self.function}:{self.digest}"

    def why_fixed(self, types: Mapping[str, str]) -> str | None:
        """Why it keeps its place among the others; None if it may be moved."""
        if self.commutative:
            return None
        if self.function:
            return f"{self.text} may raise and is not declared commutative"
        return why_raises(self.sql, types)


def recorded_filters(rules: Mapping[str, Any]) -> tuple[StreamFilter, ...]:
    """The filters that a slice's rules were recorded with."""
    return tuple(StreamFilter(**{**known, "parameters": tuple(known["parameters"])}) for known in rules["where"])


def placed_filters(filters: Iterable[StreamFilter], types: Mapping[str, str]) -> tuple[Placed, ...]:
    """The filters as a chain with its borders."""
    return bordered((known.condition, known.why_fixed(types)) for known in filters)


def lower_filter(stream: str, columns: Mapping[str, str], text: str, file: str = "streams.yaml") -> str:
    """The Spark SQL of a filter; raises WorkspaceError with everything that is wrong with it."""
    problems = ProblemList(file, text)
    lowered = ""
    try:
        lowered = _lowered(stream, columns, text, problems)
    except RecursionError:
        problems.add(0, "the filter is nested too deeply to be read; split it")
    problems.raise_if_any()
    return lowered


def filter_problems(name: str, stream: Stream, python: PythonSource | None, file: YamlFile) -> list[Problem]:
    """Everything wrong with a stream's filters, each with its line; without filters.py, of those in SQL."""
    problems = []
    for index, condition in enumerate(stream.where):
        path = ("streams", name, "where", index)
        if condition.python is not None:
            problems += _python_problems(name, stream, condition.python, python, (file, path)) if python else []
            continue
        try:
            lower_filter(name, stream.columns, condition.text)
        except WorkspaceError as error:
            problems += [file.problem(path, f"streams.{name}.where: {found.message}") for found in error.problems]
    return problems


def _python_problems(
    name: str, stream: Stream, function: str, python: PythonSource, place: tuple[YamlFile, KeyPath]
) -> list[Problem]:
    """A mistake of the function itself is told with its own line."""
    file, path = place
    return [
        Problem(FILTERS_FILE, message, own.line) if own else file.problem(path, f"streams.{name}.where: {message}")
        for message, own in predicate_problems(python, function, name, stream.columns)
    ]


def lower_filters(name: str, stream: Stream, python: PythonSource) -> list[StreamFilter]:
    """The stream's filters, checked before, in the order written."""
    return [_lower_one(name, stream, condition, python) for condition in stream.where]


def _lower_one(name: str, stream: Stream, condition: Condition, python: PythonSource) -> StreamFilter:
    if condition.python is None:
        sql = lower_filter(name, stream.columns, condition.text)
        return StreamFilter(condition.text, sql, commutative=condition.commutative)
    function = python.functions[condition.python]
    digest = hashlib.sha256(function.text.encode()).hexdigest()[:16]
    return StreamFilter(
        condition.text, "", condition.python, function.parameters, digest, commutative=condition.commutative
    )


def _lowered(stream: str, columns: Mapping[str, str], text: str, problems: ProblemList) -> str:
    source = SourceText(text, problems)
    if source.brackets:
        problems.add(source.brackets[0].start, f"a window clause has no place in a filter; {_SHAPE}")
    tree = None if problems.count else _parse(source.plain, problems)
    if tree is None:
        return ""
    if ExpressionChecker(source, Columns(stream, columns, (stream,)), problems).check(tree, Place("a stream's filter")):
        check_condition(tree, columns, "a filter", problems)
    return "" if problems.count else render(tree)


def _parse(plain: str, problems: ProblemList) -> exp.Expr | None:
    try:
        trees = [tree for tree in sqlglot.parse(f"SELECT 1 WHERE {plain}", dialect=WindowSql) if tree is not None]
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError):
        trees = []
    select = trees[0] if len(trees) == 1 else None
    others = [name for name, value in select.args.items() if value and name not in {"expressions", "where"}] if (
        isinstance(select, exp.Select)
    ) else ["?"]  # fmt: skip
    where = None if select is None or others else select.args.get("where")
    if where is None:
        problems.add(0, f"{plain.strip()!r} cannot be read as SQL; {_SHAPE}")
        return None
    condition: exp.Expr = where.this
    return condition
