"""`panelake bench join`: the kernel alone, and the whole stage beside what others take for the same results.

Two streams of as many tuples as told in all (two million at most), on Parquet. `long windows`: keys from a tenth of the
tuples, windows of a tenth of the time. `long history`: ten times fewer keys, windows ten times shorter, so that most
tuples of one key share no window; who matches by key first and looks at times then makes 25 pairs a tuple. Windows
slide by a tenth of their range. Everyone counts the same results, which is checked. `shuffle` is what Spark takes to
bring the same rows, sorted, to Python and back without joining anything: the floor under the stage. One warm session,
one run, the better of two times; ratios are what counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.benchmarks.join_kernel import kernel_table
from panelake.benchmarks.passing import pass_on
from panelake.benchmarks.peers import duckdb_connection
from panelake.benchmarks.symmetric_hash import symmetric_hash_results
from panelake.benchmarks.targets import at_least, at_most
from panelake.benchmarks.timing import rounded, side_by_side
from panelake.language.query import JoinQuery, JoinStream, Output
from panelake.slices import Slice
from panelake.spark.join_worker import KEY, OWN, SEQ, SLICE, STREAM, TS
from panelake.stages.join_results import joined
from panelake.stages.join_tuples import JoinReach

_SPAN = 1_000_000_000  # microseconds of event time
_MOST = 2_000_000
_SHAPES = {"long windows": 10, "long history": 100}  # tuples a key; parts of the time that a window holds


@dataclass(frozen=True)
class Pair:
    """Two streams' files, and their tuples in memory."""

    folder: Path
    rows: pa.Table
    extent: int

    @property
    def slide(self) -> int:
        return self.extent // 10

    @property
    def files(self) -> str:
        return f"{self.folder}/*.parquet"


def run(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:
    """The kernel's table, then everyone's seconds for two-way joins."""
    found: dict[str, Any] = {"kernel": kernel_table(tuples)}
    for name, parts in _SHAPES.items():
        size = min(tuples, _MOST)
        found[name] = compared(spark, make(folder / f"join-{size}-{parts}", size, parts))
    targets = found["kernel"].pop("targets")
    for name in _SHAPES:
        targets += [target | {"what": f"{name}: {target['what']}"} for target in found[name].pop("targets")]
    return {"tuples": tuples, **found, "targets": targets}


def make(folder: Path, tuples: int, parts: int, seed: int = 1) -> Pair:
    """Tuples of both streams in time order, written once."""
    generator = np.random.default_rng(seed)
    columns = {
        TS: np.sort(generator.integers(0, _SPAN, tuples)),
        STREAM: generator.integers(0, 2, tuples).astype(np.int32),
        KEY: generator.integers(0, max(1, tuples // parts), tuples),
        SEQ: np.arange(tuples),
    }
    rows = pa.table(columns)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tuples.parquet"
    if not path.exists():
        pq.write_table(rows, path, row_group_size=max(1, tuples // 4))
    return Pair(folder, rows, _SPAN // parts)


def compared(spark: SparkSession, pair: Pair) -> dict[str, Any]:
    """Seconds of everyone, ratios to ours, and whether all found the same."""
    ways = {
        "panelake": partial(_stage, spark, pair),
        "shuffle": partial(_shuffle, spark, pair),
        "spark_sql": partial(_spark_sql, spark, pair),
        "duckdb": partial(_duckdb, pair),
        "polars": partial(_polars, pair),
        "symmetric_hash": partial(symmetric_hash_results, pair.rows, pair.extent, pair.slide),
    }
    counts: dict[str, int] = {}

    def counted(name: str) -> None:
        counts[name] = ways[name]()

    found = side_by_side({name: partial(counted, name) for name in ways}, rounds=2)
    if counts.pop("shuffle") != pair.rows.num_rows or len(set(counts.values())) != 1:
        raise AssertionError(f"not everyone found the same results: {counts}")
    mine = found["panelake"]
    return {
        "tuples": pair.rows.num_rows,
        "results": counts["panelake"],
        "tuples_a_second": round(pair.rows.num_rows / mine),
        "seconds": rounded(found),
        "ratios": rounded({name: value / mine for name, value in found.items()}),
        "targets": [
            at_most("ours, times shuffle + sort + Arrow", mine / found["shuffle"], 3.0),
            at_least("plain Spark SQL, times ours", found["spark_sql"] / mine, 1.0),
        ],
    }


def _read(spark: SparkSession, pair: Pair) -> DataFrame:
    slices, own = F.lit(0).cast("bigint").alias(SLICE), F.lit(True).alias(OWN)  # noqa: FBT003 - Spark's signature
    return spark.read.parquet(str(pair.folder)).select(TS, STREAM, KEY, SEQ, slices, own)


def _stage(spark: SparkSession, pair: Pair) -> int:
    streams = tuple(JoinStream(alias, alias, pair.extent, ("k",), ()) for alias in "ab")
    output = Output("n", "1")
    query = JoinQuery("bench", "", streams, pair.slide, 0, ("bigint",), (output,), (), pair.slide)
    reach = JoinReach(query, Slice(0, _SPAN), {"a": [], "b": []})
    return int(joined(_read(spark, pair), reach).count())


def _shuffle(spark: SparkSession, pair: Pair) -> int:
    tuples = _read(spark, pair)
    in_order = tuples.repartition(KEY).sortWithinPartitions(TS, STREAM, SEQ)
    return int(in_order.mapInArrow(pass_on, tuples.schema).count())


_SQL = """
SELECT count(*) FROM a JOIN b ON a._key = b._key
WHERE least(a._ts, b._ts) >= (greatest(a._ts, b._ts) {div} {slide} + 1) * {slide} - {extent}
"""


def _spark_sql(spark: SparkSession, pair: Pair) -> int:
    tuples = spark.read.parquet(str(pair.folder))
    for place, alias in enumerate("ab"):
        tuples.where(F.col(STREAM) == place).createOrReplaceTempView(alias)
    return int(spark.sql(_SQL.format(div="DIV", slide=pair.slide, extent=pair.extent)).first()[0])


def _duckdb(pair: Pair) -> int:
    connection = duckdb_connection()
    for place, alias in enumerate("ab"):
        source = f"SELECT * FROM read_parquet('{pair.files}') WHERE _stream = {place}"  # noqa: S608 - our own file
        connection.execute(f"CREATE VIEW {alias} AS {source}")
    return int(connection.execute(_SQL.format(div="//", slide=pair.slide, extent=pair.extent)).fetchone()[0])


def _polars(pair: Pair) -> int:
    import polars as pl  # noqa: PLC0415 - a peer, not a dependency of the package

    tuples = pl.scan_parquet(pair.files)
    a, b = (tuples.filter(pl.col(STREAM) == place) for place in range(2))
    both = a.join(b, on=KEY)
    newest = pl.max_horizontal(TS, f"{TS}_right")
    oldest = pl.min_horizontal(TS, f"{TS}_right")
    inside = both.filter(oldest >= (newest // pair.slide + 1) * pair.slide - pair.extent)
    return int(inside.select(pl.len()).collect().item())
