"""The benchmark's peers answer the same questions: DuckDB gives our answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from panelake.benchmarks import ours, peers, sharing
from panelake.benchmarks.stream import Stream, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPES = ((180, 60), (120, 30), (60, 10))
Answer = tuple[int, float, float, float]


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    return make(tmp_path_factory.mktemp("bench"), 20_000, 6)


def by_duckdb(stream: Stream, shape: peers.Shape) -> dict[tuple[int, int], Answer]:
    sql = peers._unnested(f"read_parquet('{stream.files}')", "epoch_us(ts)", shape, peers._AGGREGATES)
    return {(end, area): tuple(rest) for area, end, *rest in peers.duckdb_connection().execute(sql).fetchall()}


@pytest.mark.spark
def test_duckdb_and_we_give_the_same_answers(stream: Stream, spark: SparkSession) -> None:
    queries = ours.time_queries(SHAPES) + ours.row_queries([(200, 50)])
    answers = ours.windows(peers.read(spark, stream), stream, queries)
    rows = answers.frame.toArrow().to_pylist()
    for range_, slide in SHAPES:
        name = f"t{range_}_{slide}"
        columns = answers.columns[name]
        mine = [row for row in rows if row["_query"] == name]
        got = {
            (row["_window_end"], row[columns["area_id"]]): tuple(row[columns[column]] for column in "nsab")
            for row in mine
        }
        expected = by_duckdb(stream, (range_, slide))
        assert len(got) == len(mine)
        assert got.keys() == expected.keys()
        for place, answer in expected.items():
            assert got[place] == pytest.approx(answer, rel=1e-12)
    complete = {row["_window_start"] for row in rows if row["_query"] == "r200_50"}
    assert complete == set(range(0, 20_000 - 200 + 1, 50))


def test_a_stream_is_made_once(stream: Stream) -> None:
    (file,) = Path(stream.folder).glob("*.parquet")
    before = file.stat().st_mtime_ns
    assert make(stream.folder.parent, 20_000, 6) == stream
    assert file.stat().st_mtime_ns == before


def test_ways_to_share_are_the_same_queries_over_other_panes() -> None:
    found = sharing.ways(300)
    names = {way: {query.name for made in sets for query in made.queries} for way, sets in found.items()}
    assert names["shared"] == names["apart"]
    assert [bool(made.time and made.rows) for made in found["shared"]] == [True]
    assert all(not (made.time and made.rows) for made in found["apart"])


def test_the_crossover_is_where_the_fitted_ratio_is_one() -> None:
    found = sharing.crossover([(f, 0.75 + 10 / f) for f in (8, 30, 100, 800)])
    assert found == {"a": 0.75, "b": 10.0, "tuples_a_fragment": 40.0}
    assert sharing.crossover([(8, 0.9), (800, 0.5)])["tuples_a_fragment"] == pytest.approx(6.4, abs=0.1)
    assert sharing.crossover([(8, 3.0), (800, 1.5)])["tuples_a_fragment"] is None
