"""The law across backfills: the same gold from a day at once, from many short slices, and from history after the fact.

    at once        |-----------------------|
    short slices   |--|--|--|--|--|--|--|--|      oldest first
    interleaved     4  3  2  1  1  2  3  4        the middle is live, history comes behind it newest first

PANELAKE_CUTS says how many short slices (288 of five minutes make a day; `make test-worlds` runs those).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.cli import main
from panelake.slices import format_instant

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(6 * 3600)]

CUTS = int(os.environ.get("PANELAKE_CUTS", "4"))
LENGTH = 300_000_000
START = 20_454 * 86_400_000_000  # a midnight
STREAMS = """\
slice: 5 minutes
streams:
  cars:
    schema: {area: int, speed: bigint, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
"""
QUERIES = {
    "timed": "SELECT area, count(*) AS n, sum(speed) AS s FROM cars [RANGE 7 MINUTES SLIDE 2 MINUTES] GROUP BY area",
    "in_rows": "SELECT area, max(speed) AS fastest FROM cars [RANGE 50 ROWS SLIDE 20 ROWS] GROUP BY area",
}


class World:
    """The same tuples in a workspace of its own."""

    def __init__(self, root: Path, master: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._master, self._capsys = root, master, capsys
        (root / "landing").mkdir(parents=True)
        (root / "queries").mkdir()
        (root / "streams.yaml").write_text(STREAMS)
        for name, text in QUERIES.items():
            (root / "queries" / f"{name}.sql").write_text(text)
        generator = np.random.default_rng(7)
        count = 40 * CUTS
        times = START + np.sort(generator.integers(0, CUTS * LENGTH, count))
        columns = [generator.integers(0, 3, count), generator.integers(0, 200, count), times]
        kinds = [pa.int32(), pa.int64(), pa.timestamp("us", tz="UTC")]
        arrays = [pa.array(values).cast(kind) for values, kind in zip(columns, kinds, strict=True)]
        pq.write_table(pa.table(arrays, names=["area", "speed", "ts"]), root / "landing" / "all.parquet")

    def run(self, first: int, last: int, *more: str) -> None:
        bounds = [format_instant(START + at * LENGTH) for at in (first, last)]
        command = ["run", "--workspace", str(self.root), "--master", self._master, "--json"]
        code = main([*command, "--from", bounds[0], "--to", bounds[1], *more])
        told = json.loads(self._capsys.readouterr().out)
        assert (code, told["refused"]) == (0, [])

    def gold(self, name: str) -> list[dict[str, Any]]:
        """In order; by which slices it came, and in how many revisions, aside."""
        table = DeltaTable(str(self.root / "warehouse" / "gold" / name)).to_pyarrow_table()
        rows = table.drop_columns(["_slice", "_revision"]).to_pylist()
        return sorted(rows, key=lambda row: (row["window_end"], row["area"]))


def test_gold_is_the_same_however_the_day_is_cut(
    tmp_path: Path, spark_server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at_once = World(tmp_path / "at_once", spark_server, capsys)
    at_once.run(0, CUTS, "--slice", f"{5 * CUTS} minutes")
    short = World(tmp_path / "short", spark_server, capsys)
    short.run(0, CUTS)
    interleaved = World(tmp_path / "interleaved", spark_server, capsys)
    for step in range(CUTS // 2):
        interleaved.run(CUTS // 2 + step, CUTS // 2 + step + 1)
        interleaved.run(CUTS // 2 - step - 1, CUTS // 2 - step)
    assert len(short.gold("timed")) > CUTS
    assert short.gold("timed") == at_once.gold("timed")
    assert short.gold("in_rows") == at_once.gold("in_rows")
    assert interleaved.gold("timed") == at_once.gold("timed")
