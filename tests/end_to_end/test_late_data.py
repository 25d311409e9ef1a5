"""Late tuples through every stage: what they touch is restated and audited, and nothing else.

minute       0         1         2 (brings the late)
area 1       . . . .   . . . .   . .      late at second 10
area 2       . . . .   . . . .   . .      late at second 70
area 3       . . . .   . . . .   . .      none
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.context import Context
from panelake.durations import MINUTE, SECOND
from panelake.flow import STAGES
from panelake.runner import run_slice
from panelake.slices import Slice, format_instant, to_microseconds
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.end_to_end]

STREAMS = """\
slice: 1 minute
streams:
  s:
    schema: {area: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 1 hour
"""
QUERIES = {
    "counts": "SELECT area, count(*) AS n, sum(speed) AS t FROM s [RANGE 30 SECONDS SLIDE 15 SECONDS] GROUP BY area",
    "few": "SELECT area, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 20 SECONDS] GROUP BY area HAVING count(*) < 3",
    "fast": "SELECT area, count(*) AS n FROM s [RANGE 40 SECONDS SLIDE 20 SECONDS] WHERE speed > 5 GROUP BY area",
    "rows": "SELECT count(*) AS n FROM s [RANGE 6 SLIDE 3 WATTR ROW]",
}
SHAPES = {"counts": (30, 15), "few": (20, 20), "fast": (40, 20)}
Tuple = tuple[int, float, float]  # area, second, speed


def land(root: Path, name: str, tuples: list[Tuple]) -> None:
    columns = {
        "area": pa.array([area for area, _, _ in tuples], pa.int32()),
        "speed": pa.array([speed for _, _, speed in tuples]),
        "ts": pa.array([round(at * SECOND) for _, at, _ in tuples], pa.timestamp("us", tz="UTC")),
    }
    pq.write_table(pa.table(columns), root / "landing" / f"{name}.parquet")


def brute_force(query: str, tuples: list[Tuple], minutes: int) -> dict[tuple[int, int], int]:
    range_, slide = SHAPES[query]
    counts: dict[tuple[int, int], int] = {}
    for end in range(slide, minutes * 60 + 1, slide):
        for area in (1, 2, 3):
            held = [speed for a, at, speed in tuples if a == area and end - range_ <= at < end]
            n = sum(speed > 5 for speed in held) if query == "fast" else len(held)
            if n and (query != "few" or n < 3):
                counts[(end, area)] = n
    return counts


def gold(context: Context, query: str) -> dict[tuple[int, int], dict[str, Any]]:
    rows = DeltaTable(context.catalog.gold(query)).to_pyarrow_table().to_pylist()
    return {(to_microseconds(row["window_end"]) // SECOND, row["area"]): row for row in rows}


def test_late_tuples_restate_what_they_touch_and_nothing_else(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "queries").mkdir()
    (tmp_path / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (tmp_path / "queries" / f"{name}.sql").write_text(text)
    context = Context(load_workspace(tmp_path))
    vars(context)["spark"] = spark
    tuples = [(area, at + area / 10, 9.0) for area in (1, 2, 3) for at in range(0, 180, 10)]
    land(tmp_path, "on time", tuples)

    def run(minute: int) -> dict[tuple[str, str], Any]:
        part = Slice(minute * MINUTE, (minute + 1) * MINUTE)
        entries = run_slice(context, part, lambda *_: None, [stage for stage in STAGES if stage.name != "report"])
        assert {entry.status for entry in entries} == {"done"}, [entry.details.get("why") for entry in entries]
        return {(entry.stage, entry.subject): entry for entry in entries}

    run(0)
    run(1)
    late: list[Tuple] = [(1, 10.0, 9.0), (2, 70.0, 1.0)]
    land(tmp_path, "late", late)
    entries = run(2)

    for query in SHAPES:
        found = gold(context, query)
        assert {place: row["n"] for place, row in found.items()} == brute_force(query, [*tuples, *late], 3), query
    revised = {query: {place for place, row in gold(context, query).items() if row["_revision"]} for query in SHAPES}
    assert revised == {
        "counts": {(15, 1), (30, 1), (75, 2), (90, 2)},
        "few": set(),  # its two windows that changed have three tuples now: HAVING drops them
        "fast": {(20, 1), (40, 1)},  # the other late tuple does not pass WHERE
    }
    told = {query: entries["publish", query].details.get("restated", {}).get("first") for query in SHAPES}
    assert told == {
        "counts": [[format_instant(end * SECOND), area] for end, area in ((15, 1), (30, 1), (75, 2), (90, 2))],
        "few": [[format_instant(end * SECOND), area] for end, area in ((20, 1), (80, 2))],
        "fast": [[format_instant(end * SECOND), area] for end, area in ((20, 1), (40, 1))],
    }
    assert entries["windows", "counts"].details["restated"] == [[15 * SECOND, 30 * SECOND], [75 * SECOND, 90 * SECOND]]
    assert "restated" not in entries["publish", "rows"].details
