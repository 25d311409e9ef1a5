"""The pane plan in force for a stream, from its queries and from what was measured of it once; needs no Spark.

Statistics are measured on the first slice that holds tuples and kept in the ledger: a plan that changed with every
slice would leave no panes to share.
"""

from __future__ import annotations

import json

import pyarrow as pa

from panelake import tables
from panelake.context import Context
from panelake.planning.plan import Plan, Statistics, build_plan

MEASURED = pa.schema(
    [("stream", pa.string()), ("keys", pa.string()), ("groups", pa.int64()), ("tuples_per_second", pa.float64())]
)


def plan_of(context: Context, stream: str) -> Plan:
    """The plan of a stream's queries by the statistics recorded so far."""
    return build_plan(stream, context.workspace.queries_of(stream), recorded_statistics(context, stream))


def recorded_statistics(context: Context, stream: str) -> Statistics:
    """What the ledger holds; of two records of the same keys the first counts."""
    rows = tables.read(context.catalog.ledger("statistics"), MEASURED).to_pylist()
    mine = [row for row in rows if row["stream"] == stream]
    if not mine:
        return Statistics()
    groups = {tuple(json.loads(row["keys"])): row["groups"] for row in reversed(mine)}
    return Statistics(mine[0]["tuples_per_second"], groups, measured=True)
