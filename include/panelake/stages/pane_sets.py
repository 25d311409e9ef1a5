"""Measures what the pane plan of a stream is made by: its groups and its rate, on the first slice that holds tuples."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.context import Context
from panelake.durations import SECOND
from panelake.language.query import AggregateQuery
from panelake.pane_plan import MEASURED, plan_of, recorded_statistics
from panelake.planning.pane_set import PaneSet, key_column, key_expressions
from panelake.planning.plan import Keys, build_plan
from panelake.slices import Slice

__all__ = ["MEASURED", "PaneSet", "key_column", "key_expressions", "measure", "pane_sets", "plan_of"]


def pane_sets(queries: Iterable[AggregateQuery]) -> tuple[PaneSet, ...]:
    """The sets of queries whose stream was not measured."""
    return build_plan("", queries).sets


def measure(context: Context, stream: str, tuples: DataFrame, part: Slice) -> None:
    """Record the number of groups of each set of keys that has no record yet, from one slice's tuples."""
    known = recorded_statistics(context, stream)
    wanted = {key_expressions(query) for query in context.workspace.queries_of(stream)} - set(known.groups)
    if not wanted:
        return
    ordered = sorted(wanted)
    found = tuples.agg(F.count(F.lit(1)), *[_groups(keys) for keys in ordered]).collect()[0]
    if found[0]:
        rate = known.tuples_per_second if known.measured else found[0] * SECOND / part.length
        _record(context, stream, dict(zip(ordered, found[1:], strict=True)), rate)


def _groups(keys: Keys) -> F.Column:
    return F.approx_count_distinct(F.struct(*[F.expr(key) for key in keys])) if keys else F.lit(1).cast("bigint")


def _record(context: Context, stream: str, groups: dict[Keys, int], rate: float) -> None:
    def decide(rows: pa.Table) -> pa.Table | None:
        known = {(row["stream"], row["keys"]) for row in rows.to_pylist()}
        fresh = [
            {"stream": stream, "keys": json.dumps(keys), "groups": count, "tuples_per_second": rate}
            for keys, count in groups.items()
            if (stream, json.dumps(keys)) not in known
        ]
        return pa.Table.from_pylist(fresh, schema=MEASURED) if fresh else None

    tables.compare_and_append(context.catalog.ledger("statistics"), MEASURED, decide)
