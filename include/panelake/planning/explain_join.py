"""What `plan` says of a join: streams, W, T, Te, memory and policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from panelake.console import print_table, say
from panelake.durations import format_duration
from panelake.join_memory import logical_partitions
from panelake.language.query import JoinQuery


def explained_join(query: JoinQuery) -> dict[str, Any]:
    """One join as a document; durations are seconds."""
    return {
        "name": query.name,
        "streams": [_stream(query, place) for place in range(len(query.streams))],
        "slide": query.slide / 1e6,
        "every": query.every / 1e6,
        "offset": query.offset / 1e6,
        "filters": list(query.filters),
        "memory": query.memory,
        "policy": query.policy or None,
        "logical_partitions": None if query.memory is None else logical_partitions(query.memory),
    }


def _stream(query: JoinQuery, place: int) -> dict[str, Any]:
    stream = query.streams[place]
    return {
        "alias": stream.alias,
        "stream": stream.stream,
        "range": stream.range / 1e6,
        "keys": list(stream.keys),
        "conditions": list(stream.conditions),
    }


def tell_joins(joins: Sequence[dict[str, Any]]) -> None:
    """The same for a person."""
    for join in joins:
        say(
            f"join {join['name']}: SLIDE (T) {_span(join['slide'])}, EVERY (Te) {_span(join['every'])}, {_memory(join)}"
        )
        rows = [
            [one["alias"], one["stream"], _span(one["range"]), ", ".join(one["keys"]), " AND ".join(one["conditions"])]
            for one in join["streams"]
        ]
        print_table(["as", "stream", "RANGE (W)", "joined by", "where"], rows)
        if join["filters"]:
            say(f"  matches where {' AND '.join(join['filters'])}")


def _span(seconds: float) -> str:
    return format_duration(round(seconds * 1e6))


def _memory(join: dict[str, Any]) -> str:
    if join["memory"] is None:
        return "no memory limit, nothing is shed"
    parts = join["logical_partitions"]
    where = "one partition" if parts == 1 else f"{parts} partitions"
    return f"at most {join['memory']:,} rows a stream in {where}, shed by {join['policy']}"
