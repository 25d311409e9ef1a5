"""Stream-level filters: a condition of streams.yaml, checked as a query's WHERE is, and lowered to Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from panelake.errors import Problem, WorkspaceError
from panelake.language.columns import Columns
from panelake.language.dialect import WindowSql, render
from panelake.language.expressions import ExpressionChecker, Place
from panelake.language.problems import ProblemList
from panelake.language.source_text import SourceText
from panelake.yamlfile import YamlFile

_SHAPE = "expected one condition over the stream's columns, such as speed >= 0"


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


def filter_problems(stream: str, columns: Mapping[str, str], filters: Sequence[str], file: YamlFile) -> list[Problem]:
    """Everything wrong with a stream's filters, each with the line it stands on."""
    problems = []
    for index, text in enumerate(filters):
        path = ("streams", stream, "where", index)
        try:
            lower_filter(stream, columns, text)
        except WorkspaceError as error:
            problems += [file.problem(path, f"streams.{stream}.where: {found.message}") for found in error.problems]
    return problems


def _lowered(stream: str, columns: Mapping[str, str], text: str, problems: ProblemList) -> str:
    source = SourceText(text, problems)
    if source.brackets:
        problems.add(source.brackets[0].start, f"a window clause has no place in a filter; {_SHAPE}")
    tree = None if problems.count else _parse(source.plain, problems)
    if tree is None:
        return ""
    ExpressionChecker(source, Columns(stream, columns, (stream,)), problems).check(tree, Place("a stream's filter"))
    return "" if problems.count else render(tree)


def _parse(plain: str, problems: ProblemList) -> exp.Expr | None:
    try:
        trees = [tree for tree in sqlglot.parse(f"SELECT 1 WHERE {plain}", dialect=WindowSql) if tree is not None]
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError):
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
