"""Lowering: from window states to the columns a query selects, as Spark expressions.

All queries of a stream come out of one job as one wide frame: a column belongs to one query and is NULL in the
others' rows, so that a further query costs columns, not a job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from sqlglot import exp, parse_one

from panelake.aggregates import lowered
from panelake.language.dialect import WindowSql, render
from panelake.language.query import AggregateQuery
from panelake.planning.pane_set import key_column
from panelake.slices import Slice
from panelake.spark.balanced import any_of
from panelake.spark.slide import END, QUERY, START
from panelake.staging import KEPT


def gold_columns(query: AggregateQuery) -> tuple[str, ...]:
    """The columns of the query's answers that are its own: group keys, then outputs."""
    return (*(key.alias for key in query.keys), *(output.alias for output in query.outputs))


def wide_column(query: AggregateQuery, column: str) -> str:
    """The wide frame's column that holds a query's column."""
    return f"{query.name}/{column}"


def lower(
    states: DataFrame,
    queries: Sequence[AggregateQuery],
    types: Mapping[str, str],
    restated: Mapping[str, Slice] | None = None,
) -> DataFrame:
    """Each window row with its query's columns; rows that HAVING drops are dropped.

    Of restated queries they stay, with `_kept` false, where their window ends outside the slice given: an answer that
    is in gold must go from there.
    """
    columns: list[Column] = []
    for query in queries:
        values = _values(query, types)
        mine = F.col(QUERY) == query.name
        columns += [F.when(mine, F.expr(sql)).alias(wide_column(query, name)) for name, sql in values.items()]
    kept = _kept(queries, types)
    limited = {query.name: part for query in queries if query.having and (part := (restated or {}).get(query.name))}
    if not limited:
        return states.where(kept).select(QUERY, START, END, *columns)
    gone = any_of([_outside(name, part) for name, part in limited.items()])
    return states.where(kept | gone).select(QUERY, START, END, F.coalesce(kept, F.lit(False)).alias(KEPT), *columns)  # noqa: FBT003


def _outside(query: str, part: Slice) -> Column:
    return (F.col(QUERY) == query) & ((F.col(END) <= part.start) | (F.col(END) > part.end))


def _kept(queries: Sequence[AggregateQuery], types: Mapping[str, str]) -> Column:
    """What HAVING says of a row; a row of a query without one is kept."""
    chosen = F.when(F.col(QUERY).isNull(), F.lit(False))  # noqa: FBT003 - Spark's signature
    for query in queries:
        if query.having:
            chosen = chosen.when(F.col(QUERY) == query.name, F.expr(_resolved(query.having, query, types)))
    return chosen.otherwise(F.lit(True))  # noqa: FBT003 - the same


def _values(query: AggregateQuery, types: Mapping[str, str]) -> dict[str, str]:
    """Spark SQL over state and key columns for every gold column."""
    keys = {key.alias: f"`{key_column(key.expression)}`" for key in query.keys}
    return keys | {output.alias: _resolved(output.expression, query, types) for output in query.outputs}


def _resolved(expression: str, query: AggregateQuery, types: Mapping[str, str]) -> str:
    """The expression with placeholders and key aliases replaced by what they stand for."""
    meanings = {key.alias: f"`{key_column(key.expression)}`" for key in query.keys} | lowered(query, types)
    trees = {name: parse_one(sql, dialect=WindowSql) for name, sql in meanings.items()}

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in trees:
            return exp.paren(trees[node.name].copy())
        return node

    return render(parse_one(expression, dialect=WindowSql).transform(replaced))
