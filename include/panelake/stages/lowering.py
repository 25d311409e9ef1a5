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
from panelake.spark.slide import END, QUERY, START


def gold_columns(query: AggregateQuery) -> tuple[str, ...]:
    """The columns of the query's answers that are its own: group keys, then outputs."""
    return (*(key.alias for key in query.keys), *(output.alias for output in query.outputs))


def wide_column(query: AggregateQuery, column: str) -> str:
    """The wide frame's column that holds a query's column."""
    return f"{query.name}/{column}"


def lower(states: DataFrame, queries: Sequence[AggregateQuery], types: Mapping[str, str]) -> DataFrame:
    """Each window row with its query's columns; rows that HAVING drops are dropped."""
    kept = F.lit(False)  # noqa: FBT003 - Spark's signature
    columns: list[Column] = []
    for query in queries:
        values = _values(query, types)
        mine = F.col(QUERY) == query.name
        columns += [F.when(mine, F.expr(sql)).alias(wide_column(query, name)) for name, sql in values.items()]
        kept |= mine & F.expr(_resolved(query.having, query, types)) if query.having else mine
    return states.where(kept).select(QUERY, START, END, *columns)


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
