"""Lowering: from window states to the columns a query selects, as Spark expressions.

All queries of a stream come out of one job as one frame. A column is named by what it means: queries that select the
same of the same states share it, and a state that is selected as it is stays the column it was. So a further query
costs columns only where it asks for something new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.aggregates import lowered
from panelake.language.placeholders import replaced
from panelake.language.query import AggregateQuery
from panelake.planning.pane_set import key_column
from panelake.slices import Slice
from panelake.spark.balanced import any_of
from panelake.spark.slide import END, QUERY, START
from panelake.staging import KEPT


@dataclass(frozen=True)
class Lowered:
    """All queries' answers; by query, for each of its own columns, keys then outputs, the frame's that holds it."""

    frame: DataFrame
    columns: Mapping[str, Mapping[str, str]]


def lower(
    states: DataFrame,
    queries: Sequence[AggregateQuery],
    types: Mapping[str, str],
    restated: Mapping[str, Slice] | None = None,
) -> Lowered:
    """Each window row with its query's columns; rows that HAVING drops are dropped.

    Of restated queries they stay, with `_kept` false, where their window ends outside the slice given: an answer that
    is in gold must go from there.
    """
    values = {query.name: _values(query, types) for query in queries}
    frame = _frame(states, queries, types, restated or {}, _columns(values, types))
    named = {name: {alias: _column(sql, types) for alias, sql in mine.items()} for name, mine in values.items()}
    return Lowered(frame, named)


def _frame(
    states: DataFrame,
    queries: Sequence[AggregateQuery],
    types: Mapping[str, str],
    restated: Mapping[str, Slice],
    columns: list[Column],
) -> DataFrame:
    if not any(query.having for query in queries):
        return states.select(QUERY, START, END, *columns)
    kept = _kept(queries, types)
    limited = {query.name: part for query in queries if query.having and (part := restated.get(query.name))}
    if not limited:
        return states.where(kept).select(QUERY, START, END, *columns)
    gone = any_of([_outside(name, part) for name, part in limited.items()])
    return states.where(kept | gone).select(QUERY, START, END, F.coalesce(kept, F.lit(False)).alias(KEPT), *columns)  # noqa: FBT003


def _columns(values: Mapping[str, Mapping[str, str]], types: Mapping[str, str]) -> list[Column]:
    """Every distinct value once, evaluated for the rows of the queries that select it and no others.

    Keys and states stand in the order they have already: where nothing else is selected, Spark has nothing to do.
    """
    selecting: dict[str, list[str]] = {}
    for query, mine in values.items():
        for sql in dict.fromkeys(mine.values()):
            selecting.setdefault(sql, []).append(query)
    named = {_column(sql, types): sql for sql in selecting}
    plain = [F.col(name) for name in types if name in named]
    return plain + [
        F.when(_of(selecting[sql]), F.expr(sql)).alias(name) for name, sql in named.items() if name not in types
    ]


def _column(sql: str, types: Mapping[str, str]) -> str:
    """A state or a key by its own name, anything else by what it means."""
    plain = sql.strip("`")
    return plain if plain in types else f"v_{hashlib.sha256(sql.encode()).hexdigest()[:16]}"


def _of(names: Sequence[str]) -> Column:
    return F.col(QUERY).isin(list(names))


def _outside(query: str, part: Slice) -> Column:
    return (F.col(QUERY) == query) & ((F.col(END) <= part.start) | (F.col(END) > part.end))


def _kept(queries: Sequence[AggregateQuery], types: Mapping[str, str]) -> Column:
    """What HAVING says of a row; a row of a query without one is kept."""
    limited: dict[str, list[str]] = {}
    for query in queries:
        if query.having:
            limited.setdefault(_resolved(query.having, query, types), []).append(query.name)
    unknown = F.when(F.col(QUERY).isNull(), F.lit(False))  # noqa: FBT003 - Spark's signature
    chosen = reduce(lambda found, one: found.when(_of(one[1]), F.expr(one[0])), limited.items(), unknown)
    return chosen.otherwise(F.lit(True))  # noqa: FBT003 - the same


def _values(query: AggregateQuery, types: Mapping[str, str]) -> dict[str, str]:
    """Spark SQL over state and key columns for every gold column."""
    keys = {key.alias: f"`{key_column(key.expression)}`" for key in query.keys}
    return keys | {output.alias: _resolved(output.expression, query, types) for output in query.outputs}


def _resolved(expression: str, query: AggregateQuery, types: Mapping[str, str]) -> str:
    """The expression with placeholders and key aliases replaced by what they stand for."""
    meanings = {key.alias: f"`{key_column(key.expression)}`" for key in query.keys} | lowered(query, types)
    return replaced(expression, tuple(meanings.items()))
