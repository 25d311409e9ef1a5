"""From tuples to matched rows to the columns a join selects, as Spark frames."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema

from panelake.gold import END
from panelake.gold import SLICE as GOLD_SLICE
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.language.query import JoinQuery
from panelake.spark.delta import arrow_schema
from panelake.spark.join_worker import KEY, SEQ, SLICE, STREAM, TS, WINDOW_END, JoinTask, join_partition, numbered
from panelake.spark.shed_worker import STATE
from panelake.stages.join_tuples import JoinReach, carried_columns, is_exact_code


def joined(tuples: DataFrame, reach: JoinReach) -> DataFrame:
    """The matched rows, with all that each stream's tuple carries; nothing is shed."""
    task = join_task(tuples, reach)
    # A Python worker imports the function's own module: this one would bring all of pyspark's client with it.
    work = partial(join_partition, task=task)
    in_order = tuples.repartition(KEY).sortWithinPartitions(TS, STREAM, SEQ)
    return in_order.mapInArrow(work, from_arrow_schema(task.schema))


def join_task(tuples: DataFrame, reach: JoinReach) -> JoinTask:
    """What a worker must know to join these tuples without memory limit."""
    query = reach.query
    emit_from = reach.own_span.start if reach.needs_keys else reach.part.start
    carried = tuple(carried_columns(query, stream) for stream in query.streams)
    aliases = tuple(stream.alias for stream in query.streams)
    spec = JoinSpec(tuple(one.range for one in query.streams), query.slide, query.every, query.offset)
    return JoinTask(spec, carried, aliases, _result_schema(tuples, carried, aliases), emit_from)


def _result_schema(tuples: DataFrame, carried: Sequence[Sequence[str]], aliases: Sequence[str]) -> pa.Schema:
    known = arrow_schema(tuples)
    places = [(name, pa.int64()) for name in (WINDOW_END, SLICE, KEY)]
    places += [(numbered(common, alias), pa.int64()) for common in (SEQ, TS) for alias in aliases]
    return pa.schema([*places, *(known.field(name) for names in carried for name in names)])


def selected(matches: DataFrame, query: JoinQuery, more: Sequence[str] = ()) -> DataFrame:
    """The matches that WHERE keeps, with the columns of SELECT; what only the audit needs has names of its own.

    With `more` columns the rows that carry a state are kept whatever WHERE says.
    """
    for condition in (*query.filters, *_same_keys(query)):
        kept = F.expr(condition)
        matches = matches.where(kept | F.col(STATE).isNotNull() if more else kept)
    outputs = [F.expr(output.expression).alias(output.alias) for output in query.outputs]
    numbers = [numbered(common, stream.alias) for common in (SEQ, TS) for stream in query.streams]
    return matches.select(
        *outputs,
        F.timestamp_micros(WINDOW_END).alias(END),
        F.timestamp_micros(SLICE).alias(GOLD_SLICE),
        *numbers,
        KEY,
        *more,
    )


def _same_keys(query: JoinQuery) -> list[str]:
    """Equal codes are not yet equal keys where they are hashes."""
    if is_exact_code(query):
        return []
    first = query.streams[0]
    return [
        f"CAST(`{first.column(mine)}` AS {kind}) = CAST(`{other.column(theirs)}` AS {kind})"
        for other in query.streams[1:]
        for mine, theirs, kind in zip(first.keys, other.keys, query.key_types, strict=True)
    ]


def selected_types(results: DataFrame, query: JoinQuery) -> dict[str, str]:
    """Spark's types of the selected columns."""
    own = {output.alias for output in query.outputs}
    return {field.name: field.dataType.simpleString() for field in results.schema if field.name in own}
