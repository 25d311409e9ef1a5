"""Registered queries: under which fingerprint each query's gold was made.

A query whose text changed its meaning since is refused until it is restated: gold never mixes two meanings.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panelake import tables
from panelake.context import Context
from panelake.language.parser import Query

REGISTERED = pa.schema([("query", pa.string()), ("fingerprint", pa.string()), ("recorded_at", tables.timestamp_type())])


def registered(context: Context) -> dict[str, str]:
    """Each query's fingerprint as registered last."""
    rows = tables.read(context.catalog.ledger("queries"), REGISTERED).sort_by("recorded_at").to_pylist()
    return {row["query"]: row["fingerprint"] for row in rows}


def changed_queries(context: Context) -> set[str]:
    """The workspace's queries whose meaning is no longer the registered one."""
    known = registered(context)
    queries = context.workspace.all_queries.values()
    return {q.name for q in queries if known.get(q.name, q.fingerprint) != q.fingerprint}


def register_new(context: Context, queries: Sequence[Query]) -> set[str]:
    """Register the queries seen for the first time; give the names of those that changed since they were."""
    known = registered(context)
    fresh = [query for query in queries if query.name not in known]
    if fresh:
        _record(context, fresh)
    return {query.name for query in queries if known.get(query.name, query.fingerprint) != query.fingerprint}


def register_changed(context: Context, query: Query) -> None:
    """Register the query's present meaning: its gold is being made anew."""
    _record(context, [query])


def _record(context: Context, queries: Sequence[Query]) -> None:
    now = tables.next_moment(context.catalog.ledger("queries"))
    rows = [{"query": query.name, "fingerprint": query.fingerprint, "recorded_at": now} for query in queries]
    tables.append(context.catalog.ledger("queries"), pa.Table.from_pylist(rows, schema=REGISTERED))
