"""The peers of the windows benchmark: plain PySpark, DuckDB and Polars, each at its best for the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.benchmarks.stream import Stream
from panelake.errors import PartDownError

Shape = tuple[int, int]  # range and slide, seconds
_AGGREGATES = "count(*) AS n, sum(speed) AS s, min(speed) AS a, max(speed) AS b"


def into_nothing(frame: DataFrame) -> None:
    """Run a Spark frame to its end; the sink writes nothing."""
    frame.write.format("noop").mode("overwrite").save()


def read(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream's tuples."""
    return spark.read.parquet(str(stream.folder))


def spark_group_by(spark: SparkSession, stream: Stream) -> None:
    """One plain aggregation by group: the floor under anything that reads the files."""
    into_nothing(read(spark, stream).groupBy("area_id").agg(*_columns()))


def spark_windows(spark: SparkSession, stream: Stream, shapes: Sequence[Shape]) -> None:
    """`groupBy(window())`, query after query."""
    for range_, slide in shapes:
        window = F.window("ts", f"{range_} seconds", f"{slide} seconds")
        into_nothing(read(spark, stream).groupBy(window, "area_id").agg(*_columns()))


def _columns() -> list[Any]:
    return [F.count("*"), F.sum("speed"), F.min("speed"), F.max("speed")]


def duckdb_connection() -> Any:
    """A connection with UTC, or an error that says how to get the package."""
    try:
        import duckdb  # noqa: PLC0415 - a peer, not a dependency of the package
    except ImportError:
        raise PartDownError("duckdb is not installed: it is a peer of the benchmarks; run make setup") from None
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def duckdb_windows(stream: Stream, shapes: Sequence[Shape]) -> None:
    """Each tuple unnested into its windows, query after query."""
    connection = duckdb_connection()
    for shape in shapes:
        connection.execute(_unnested(f"read_parquet('{stream.files}')", "epoch_us(ts)", shape, _AGGREGATES)).fetchall()


def duckdb_panes(stream: Stream, shapes: Sequence[Shape], unit: int) -> None:
    """Panes written by hand: one pass over the files, then every query from the panes."""
    connection = duckdb_connection()
    size = unit * 1_000_000
    connection.execute(
        f"CREATE TEMP TABLE panes AS SELECT area_id, epoch_us(ts) // {size} * {size} AS u, {_AGGREGATES}"  # noqa: S608
        f" FROM read_parquet('{stream.files}') GROUP BY ALL"
    )
    merged = "sum(n) AS n, sum(s) AS s, min(a) AS a, max(b) AS b"
    for shape in shapes:
        connection.execute(_unnested("panes", "u", shape, merged)).fetchall()


def _unnested(table: str, time: str, shape: Shape, aggregates: str) -> str:
    range_, slide = (part * 1_000_000 for part in shape)
    first = f"({time} // {slide} + 1) * {slide}"
    return (
        f"SELECT area_id, e, {aggregates} FROM (SELECT *, unnest(range({first}, {time} + {range_} + 1, {slide})) AS e"  # noqa: S608
        f" FROM {table}) GROUP BY area_id, e"
    )


def polars_windows(stream: Stream, shapes: Sequence[Shape]) -> None:
    """`group_by_dynamic`, query after query."""
    try:
        import polars as pl  # noqa: PLC0415 - a peer, not a dependency of the package
    except ImportError:
        raise PartDownError("polars is not installed: it is a peer of the benchmarks; run make setup") from None
    speed = pl.col("speed")
    for range_, slide in shapes:
        frame = pl.scan_parquet(stream.files).select("area_id", "speed", "ts").set_sorted("ts")
        windows = frame.group_by_dynamic("ts", every=f"{slide}s", period=f"{range_}s", group_by="area_id")
        windows.agg(pl.len(), speed.sum(), speed.min().alias("a"), speed.max().alias("b")).collect()
