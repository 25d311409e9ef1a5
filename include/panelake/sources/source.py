"""What every source does: name its pieces, tell their time span, read them as tuples that carry their faults.

A source is one module of this package with a class `Reader`; `MODULES` maps the formats of streams.yaml to them.
A frame that `read` gives holds the declared columns and:

- `_fault`: why the tuple cannot be used, NULL where it can; few distinct values, so that they can be counted
- `_detail`: the names behind the fault, such as the columns that are too many
- `_raw`: the tuple as it came; NULL where the columns tell all
- `_file`, `_position`: where it came from, in the source's own order
- `_block`: the part of the file it was read with; one partition holds one block (see `settings`)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.slices import Slice
from panelake.sources.files import SourceFile
from panelake.sources.glance import Glance
from panelake.sources.inputs import InputFile, Recorded, TimeSpan
from panelake.streams import Stream
from panelake.workspace import Workspace

FAULT, DETAIL, RAW, FILE, POSITION, BLOCK = "_fault", "_detail", "_raw", "_file", "_position", "_block"
PLACE = (FILE, POSITION, BLOCK)
INDEX_BITS = (1 << 33) - 1  # the lower bits of monotonically_increasing_id: the row's place in its partition
MODULES = {
    "parquet": "parquet",
    "json": "json_lines",
    "csv": "csv_lines",
    "delta": "delta_commits",
    "kafka": "kafka_topic",
    "generator": "generated",
}
_BLOCK_BYTES = 128 << 20
# Opening a file counts as much as a whole block: so Spark packs no two blocks into one partition.
_SETTINGS = {
    "spark.sql.files.maxPartitionBytes": str(_BLOCK_BYTES),
    "spark.sql.files.openCostInBytes": str(_BLOCK_BYTES),
    "spark.sql.legacy.parquet.nanosAsLong": "true",
}


class Reader(Protocol):
    """A stream's source. `parses` says that reading is dear: it is done once, and kept for the second pass."""

    parses: bool

    def __init__(self, workspace: Workspace, stream: str, optional: frozenset[str] = frozenset()) -> None:
        """`optional` columns were added to the schema later: tuples from before have none of them."""

    def pieces(self, part: Slice, recorded: Recorded) -> list[SourceFile]:
        """What the slice may choose from, in the source's order; once it has chosen, `recorded` holds the slice too."""
        ...

    def span(self, piece: SourceFile) -> TimeSpan:
        """The piece's event times, as far as they can be told without reading it."""
        ...

    def glance(self, taken: InputFile, part: Slice) -> Glance | None:
        """What a piece's event times alone tell of the slice, None where it must be read for that."""
        ...

    def read(self, spark: SparkSession, pieces: Sequence[SourceFile]) -> DataFrame:
        """The tuples of the pieces, with their faults."""
        ...


def reader_of(workspace: Workspace, stream: str, optional: frozenset[str] = frozenset()) -> Reader:
    """The reader of a stream's source."""
    module = import_module(f"panelake.sources.{MODULES[workspace.streams[stream].source.format]}")
    reader: Reader = module.Reader(workspace, stream, optional)
    return reader


@contextmanager
def settings(spark: SparkSession) -> Iterator[None]:
    """One block a partition while a source is read: a row's place in its partition is its place in the block."""
    before = {key: spark.conf.get(key, None) for key in _SETTINGS}
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.set(key, old) if old is not None else spark.conf.unset(key)


def schema_of(columns: dict[str, str]) -> str:
    """Columns as the schema text that Spark reads; names were checked to be plain."""
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


def empty_frame(spark: SparkSession, declared: Stream) -> DataFrame:
    """No tuples, in the shape of any."""
    own = f"{FAULT} string, {DETAIL} string, {RAW} string, {FILE} string, {POSITION} bigint, {BLOCK} bigint"
    return spark.createDataFrame([], f"{schema_of(declared.columns)}, {own}")


def as_json(columns: Iterable[str]) -> Column:
    """The columns as one JSON object, nothing rounded and nothing left out."""
    options = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
    return F.to_json(F.struct(*[column(name) for name in columns]), options)


def nothing() -> Column:
    """NULL where a text is expected."""
    return F.lit(None).cast("string")


def column(name: str) -> Column:
    """A column by its exact name."""
    return F.col(f"`{name}`")
