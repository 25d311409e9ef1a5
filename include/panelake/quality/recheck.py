"""Gold against bronze, long after publishing: one window of one slice, every group of every query, answered anew.

Spark's own aggregates over the raw tuples take the place of panes, states and kernels. The choice is a function of
the seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake import tables
from panelake.context import Context
from panelake.errors import GateRefusedError
from panelake.gold import END, SLICE
from panelake.language.query import AggregateQuery, Output
from panelake.planning.pane_set import window_spec
from panelake.quality.pane_rules import same_value
from panelake.quality.recompute import CHECKED, calls_in, magnitude
from panelake.slices import Slice, format_instant, to_datetime
from panelake.spark.delta import read_slices
from panelake.stages.known_slices import Ingested, ingested_slices
from panelake.stages.registry import changed_queries

_ROUNDING = 1e-9
_SHOWN = 3
Row = dict[str, Any]


def recheck(context: Context, seed: str) -> dict[str, int]:
    """Check one window of every query that has answers; give the groups compared by query and window."""
    context.open_spark()
    generator = np.random.default_rng(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8]))
    compared: dict[str, int] = {}
    wrong: list[str] = []
    for name, query in sorted(context.workspace.queries.items()):
        end = None if name in changed_queries(context) else _chosen_end(context, query, generator)
        if end is not None:
            groups, differences = _compared(context, query, end)
            compared[f"{name} {_place(query, end)}"] = groups
            wrong += differences
    if wrong:
        raise GateRefusedError("gold differs from a recompute of bronze: " + "; ".join(wrong[:_SHOWN]))
    return compared


def _place(query: AggregateQuery, end: int) -> str:
    return format_instant(end) if query.window.kind == "TS" else str(end)


def _chosen_end(context: Context, query: AggregateQuery, generator: np.random.Generator) -> int | None:
    """The end of a window in gold whose tuples are all in bronze; None where there is none."""
    table = tables.open_table(context.catalog.gold(query.name))
    rows = None if table is None else tables.dataset(table).to_table(columns=[END, SLICE])
    if rows is None or not rows.num_rows:
        return None
    parts = np.unique(rows[SLICE].cast(pa.int64()).to_numpy())
    for part in generator.permutation(parts):
        mine = rows.filter(pc.equal(rows[SLICE].cast(pa.int64()), int(part)))
        end = int(generator.choice(np.unique(mine[END].cast(pa.int64()).to_numpy())))
        if not any(one.pruned for one in _read_by(context, query, end)):
            return end
    return None


def _read_by(context: Context, query: AggregateQuery, end: int) -> list[Ingested]:
    """The slices that hold tuples of the window."""
    low = end - window_spec(query.window).range
    known = ingested_slices(context.ledger.entries(stage="ingest", subject=query.stream), query.stream)
    return [one for one in known if (one.in_time if query.window.kind == "TS" else one.in_rows)(low, end)]


def _compared(context: Context, query: AggregateQuery, end: int) -> tuple[int, list[str]]:
    """How many groups gold has, and every difference in words."""
    keys = [key.alias for key in query.keys]
    known = _published(context, query, end)
    found = _recomputed(context, query, end)
    wrong = [
        f"{query.name}, window to {_place(query, end)}: {text}" for text in _differences(query, keys, known, found)
    ]
    return len(known), wrong


def _published(context: Context, query: AggregateQuery, end: int) -> list[Row]:
    rows = tables.open_table(context.catalog.gold(query.name))
    if rows is None:
        return []
    dataset = tables.dataset(rows)
    found: list[Row] = dataset.to_table(
        filter=pc.field(END) == pa.scalar(end, dataset.schema.field(END).type)
    ).to_pylist()
    return found


def _recomputed(context: Context, query: AggregateQuery, end: int) -> list[Row]:
    """Each group's outputs, and the magnitudes that rounding is measured by as `alias|`."""
    held = _read_by(context, query, end)
    if not held:
        return []
    tuples = _tuples(context, query, [one.slice for one in held], end)
    keys = [F.expr(key.expression).alias(key.alias) for key in query.keys]
    calls = [(n, call) for n, call in enumerate(query.calls) if call.function in CHECKED]
    sums = [F.expr(f"{call.function}({call.argument or 1})").alias(f"_a{n}") for n, call in calls]
    sizes = [magnitude(call, call.argument or "1").alias(f"_m{n}") for n, call in calls]
    groups = tuples.groupBy(*keys).agg(F.count(F.lit(1)), *sums, *sizes)
    groups = groups.where(F.expr(query.having)) if query.having and _checkable(query, query.having) else groups
    outputs = [column for output in _outputs(query) for column in _output(query, output)]
    rows: list[Row] = groups.select(*[key.alias for key in query.keys], *outputs).toArrow().to_pylist()
    return rows


def _tuples(context: Context, query: AggregateQuery, parts: Sequence[Slice], end: int) -> DataFrame:
    low = end - window_spec(query.window).range
    bronze = context.catalog.bronze(query.stream)
    rows = read_slices(context.spark, bronze, parts[0].start, parts[-1].start + 1)
    time = F.col(f"`{context.workspace.streams[query.stream].event_time}`")
    in_time = (
        (time >= F.lit(to_datetime(low))) & (time < F.lit(to_datetime(end))) if query.window.kind == "TS" else None
    )
    inside = in_time if in_time is not None else (F.col("_seq") >= low) & (F.col("_seq") < end)
    return rows.where(reduce(and_, [inside, *[F.expr(condition) for condition in query.conditions]]))


def _checkable(query: AggregateQuery, expression: str) -> bool:
    return all(call.function in CHECKED for call in calls_in(expression, query))


def _outputs(query: AggregateQuery) -> list[Output]:
    return [output for output in query.outputs if _checkable(query, output.expression)]


def _output(query: AggregateQuery, output: Output) -> list[Column]:
    places = [n for n, call in enumerate(query.calls) if call in calls_in(output.expression, query)]
    size = F.array_max(F.array(F.lit(0.0), *[F.col(f"_m{n}") for n in places]))
    return [F.expr(output.expression).alias(output.alias), size.alias(f"{output.alias}|")]


def _differences(query: AggregateQuery, keys: Sequence[str], known: list[Row], found: list[Row]) -> list[str]:
    published = {tuple(row[key] for key in keys): row for row in known}
    recomputed = {tuple(row[key] for key in keys): row for row in found}
    if query.having and not _checkable(query, query.having):
        recomputed = {key: row for key, row in recomputed.items() if key in published}
    wrong = [f"group {key} is published and not in bronze" for key in published.keys() - recomputed.keys()]
    wrong += [f"group {key} is missing" for key in recomputed.keys() - published.keys()]
    for key in published.keys() & recomputed.keys():
        for output in _outputs(query):
            gold, raw = published[key][output.alias], recomputed[key]
            if not _same(gold, raw, output.alias):
                wrong.append(f"group {key}, {output.alias}: {gold} in gold, {raw[output.alias]} from bronze")
    return sorted(wrong)


def _same(gold: Any, raw: Mapping[str, Any], alias: str) -> bool:
    found = raw[alias]
    if not isinstance(gold, float) or found is None:
        return same_value(gold, found)
    size = max(abs(gold), abs(found), raw[f"{alias}|"] or 0.0)
    return same_value(gold, found, _ROUNDING * size if math.isfinite(size) else 0.0)
