"""Window SQL → a query: the text of one queries/NAME.sql, checked against the streams' schemas."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from sqlglot import exp

from panelake.errors import Problem, WorkspaceError
from panelake.language.aggregates import SUPPORTED
from panelake.language.columns import Columns
from panelake.language.conditions import check_condition
from panelake.language.dialect import render
from panelake.language.expressions import ExpressionChecker, Place, conjuncts
from panelake.language.fingerprint import fingerprint_of
from panelake.language.join_options import lift_options, read_options
from panelake.language.joins import is_join, read_join
from panelake.language.problems import ProblemList
from panelake.language.query import AggregateQuery, JoinQuery, Window
from panelake.language.select_list import (
    KeyExpression,
    Lowering,
    SelectItem,
    check_names,
    lower_outputs,
    read_items,
    read_keys,
    to_group_keys,
)
from panelake.language.source_text import SourceText
from panelake.language.statement import check_clauses, names_are_plain, parse_statement, read_stream
from panelake.language.window_clause import parse_window

Schemas = Mapping[str, Mapping[str, str]]


Query = AggregateQuery | JoinQuery


def parse_query(name: str, file: str, text: str, schemas: Schemas) -> AggregateQuery:
    """The aggregate query a file's text means; a join is a problem like any other."""
    query = parse_any_query(name, file, text, schemas)
    if isinstance(query, JoinQuery):
        message = "FROM names several streams; expected a query of aggregates over one"
        raise WorkspaceError([Problem(file, message, 1, 1)])
    return query


def parse_any_query(name: str, file: str, text: str, schemas: Schemas) -> Query:
    """The query a file's text means; raises WorkspaceError with everything that is wrong, each with its place."""
    problems = ProblemList(file, text)
    query: Query | None = None
    try:
        text.encode()
        query = _read(name, file, text, schemas, problems)
    except UnicodeEncodeError as error:
        problems.add(error.start, "the text holds half a character (a lone surrogate); save the file as UTF-8")
    except RecursionError:
        problems.add(0, "the query is nested too deeply to be read; split its expressions")
    problems.raise_if_any()
    if query is None:
        raise AssertionError("a query without problems was not built")
    return dataclasses.replace(query, fingerprint=fingerprint_of(query))


def _read(name: str, file: str, text: str, schemas: Schemas, problems: ProblemList) -> Query | None:
    source = SourceText(text, problems)
    if problems.count:
        return None
    plain, written = lift_options(source.plain)
    select = parse_statement(plain, problems)
    if select is not None and not names_are_plain(select, source):
        return None
    if select is not None and is_join(select):
        join = read_join(select, source, schemas, read_options(written, problems), problems)
        return None if join is None else dataclasses.replace(join, name=name, file=file)
    if written is not None and select is not None:
        problems.add(written.start, "WITH (…) is for joins, and FROM names one stream; remove it")
    return _read_aggregate(name, file, select, source, schemas)


def _read_aggregate(
    name: str, file: str, select: exp.Select | None, source: SourceText, schemas: Schemas
) -> AggregateQuery | None:
    problems = source.problems
    windows = [parse_window(bracket, problems) for bracket in source.brackets]
    if len(source.brackets) > 1:
        problems.add(source.brackets[1].start, "a second window clause; expected one, after the stream in FROM")
    if select is None:
        return None
    check_clauses(select, problems)
    columns = read_stream(select, source, schemas, problems)
    if columns is None:
        return None
    checker = ExpressionChecker(source, columns, problems)
    query = _build(name, file, select, checker, columns)
    window = windows[0] if windows else None
    return None if window is None else dataclasses.replace(query, window=window)


def _build(name: str, file: str, select: exp.Select, checker: ExpressionChecker, columns: Columns) -> AggregateQuery:
    problems = checker.problems
    conditions = _conditions(select, checker)
    items = read_items(select, checker)
    keys = read_keys(select.args.get("group"), items, checker, problems)
    lowering = Lowering(keys, problems)
    outputs = lower_outputs(items, lowering)
    having = _having(select, items, checker, lowering)
    check_names(_named_nodes(select, items, keys), problems)
    if not lowering.calls and not problems.count:
        problems.add_node(select, f"the query has no aggregate; expected at least one of: {SUPPORTED}")
    return AggregateQuery(
        name,
        file,
        columns.stream,
        Window("TS", 1, 1),
        to_group_keys(keys),
        lowering.calls,
        tuple(outputs),
        conditions,
        having,
    )


def _conditions(select: exp.Select, checker: ExpressionChecker) -> tuple[str, ...]:
    where = select.args.get("where")
    if where is None:
        return ()
    is_right = checker.check(where.this, Place("WHERE"))
    if is_right:
        check_condition(where.this, checker.columns.schema, "WHERE", checker.problems)
    return tuple(render(part) for part in conjuncts(where.this)) if is_right else ()


def _having(select: exp.Select, items: list[SelectItem], checker: ExpressionChecker, lowering: Lowering) -> str | None:
    having = select.args.get("having")
    if having is None:
        return None
    aliases = {item.alias: item.expression for item in items if item.alias and item.is_right}
    is_right = checker.check(having.this, Place("HAVING", may_aggregate=True, aliases=aliases))
    if is_right:
        check_condition(having.this, checker.columns.schema, "HAVING", checker.problems)
    return lowering.lower(having.this) if is_right else None


def _named_nodes(select: exp.Select, items: list[SelectItem], keys: list[KeyExpression]) -> list[tuple[exp.Expr, str]]:
    selected = [(item.node, item.alias) for item in items if item.alias]
    group = select.args.get("group")
    return selected + [(group or select, key.alias) for key in keys if key.item is None]
