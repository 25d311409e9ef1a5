"""Nothing unaudited is readable: a reader looks at gold all the while slices are refused, mended and published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from panelake.slices import Slice, to_microseconds

from .audit_world import FIRST, NEXT, World

pytestmark = pytest.mark.spark
QUERY = "ranges"
WRONG = 1e6
Seen = dict[int, int]


def test_a_reader_of_gold_sees_whole_slices_that_passed_and_nothing_else(
    copied: Callable[[], World], reading: Any
) -> None:
    world = copied()
    rows = {part.start: world.staged(QUERY, part).num_rows for part in (FIRST, NEXT)}
    seen: list[Seen] = []
    with reading(lambda: seen.append(rows_by_slice(world))):
        assert published(world, FIRST, broken=True) == "refused"
        assert published(world, FIRST) == "done", "answered again and audited, it is published"
        assert published(world, NEXT) == "done"
        assert published(world, FIRST, broken=True) == "refused", "what was readable stays as it was"
    wholes = [{}, {FIRST.start: rows[FIRST.start]}, rows]
    assert [one for one in seen if one not in wholes] == []
    assert [one for one in wholes if one in seen] == wholes, "the reader saw every state of gold"


def published(world: World, part: Slice, *, broken: bool = False) -> str:
    """Answer, audit and publish the slice, one value broken in between; what became of the query."""
    world.stage("windows", part)
    if broken:
        world.change(QUERY, 1, "slowest", lambda _: WRONG)
    world.stage("audit", part)
    return world.stage("publish", part)[QUERY].status


def rows_by_slice(world: World) -> Seen:
    """How many rows of each slice any reader finds; a value that was never audited counts as a slice of its own."""
    try:
        rows = DeltaTable(world.catalog.gold(QUERY)).to_pyarrow_table().to_pylist()
    except TableNotFoundError:
        return {}
    found: Seen = {}
    for row in rows:
        place = -1 if row["slowest"] == WRONG else to_microseconds(row["_slice"])
        found[place] = found.get(place, 0) + 1
    return found
