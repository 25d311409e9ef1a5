"""The generator: a synthetic world as a source, without files.

A piece is a minute of the world, made from the seed and the minute alone: so the same tuples come whatever the cut
into slices, and whenever they are asked for. What a world would put past the minute is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.pandas.types import from_arrow_schema

from panelake.durations import MINUTE
from panelake.errors import BadInputError
from panelake.slices import Slice, format_instant
from panelake.sources.conversion import converted, is_convertible
from panelake.sources.files import SourceFile
from panelake.sources.glance import Glance
from panelake.sources.inputs import InputFile, Recorded, TimeSpan
from panelake.sources.source import BLOCK, DETAIL, FAULT, FILE, POSITION, RAW, empty_frame, nothing
from panelake.workspace import Workspace
from panelake.worlds.generate import WORLDS

_INDEX, _PIECE, _START, _TUPLES = "index", "piece", "start", "tuples"
_SEED_STRIDE, _SEEDS = 1_000_003, 1 << 63


class Reader:
    """Makes a stream's tuples."""

    parses = True

    def __init__(self, workspace: Workspace, stream: str, optional: frozenset[str] = frozenset()) -> None:
        self.stream = stream
        self.optional = optional
        self.declared = workspace.streams[stream]
        self._source = self.declared.source

    def pieces(self, part: Slice, recorded: Recorded) -> list[SourceFile]:  # noqa: ARG002 - a world has no past
        """The minutes that the slice touches."""
        starts = range(part.start - part.start % MINUTE, part.end, MINUTE)
        name = f"{self._source.world}/{self.stream}/rate={self._source.rate:g}/seed={self._source.seed}"
        return [SourceFile(f"generator:{name}/{format_instant(start)}", self._tuples(), start) for start in starts]

    def _tuples(self) -> int:
        return max(1, round(self._source.rate * 60))

    def span(self, piece: SourceFile) -> TimeSpan:
        """The piece's minute."""
        return TimeSpan(piece.modified, piece.modified + MINUTE - 1)

    def glance(self, taken: InputFile, part: Slice) -> Glance | None:  # noqa: ARG002 - nothing is there to look at
        """Nothing, until the minute is made."""
        return None

    def read(self, spark: SparkSession, pieces: Sequence[SourceFile]) -> DataFrame:
        """The tuples of the minutes."""
        if not pieces:
            return empty_frame(spark, self.declared)
        rows = [(index, piece.path, piece.modified, piece.size) for index, piece in enumerate(pieces)]
        wanted = spark.createDataFrame(rows, f"{_INDEX} int, {_PIECE} string, {_START} bigint, {_TUPLES} bigint")
        own = _world_schema(self._source.world, self.stream)
        schema = pa.schema([*own, (FILE, pa.string()), (POSITION, pa.int64())])
        make = partial(
            generated, world=self._source.world, stream=self.stream, rate=self._source.rate, seed=self._source.seed
        )
        made = wanted.repartitionById(len(pieces), F.col(_INDEX)).mapInArrow(make, from_arrow_schema(schema))
        kinds = {field.name: field.dataType.simpleString() for field in from_arrow_schema(own)}
        self._require_columns(kinds)
        columns = [converted(kinds[name], name, kind).alias(name) for name, kind in self.declared.columns.items()]
        empty = [nothing().alias(name) for name in (FAULT, DETAIL, RAW)]
        return made.select(*columns, *empty, FILE, POSITION, F.lit(0).cast("bigint").alias(BLOCK))

    def _require_columns(self, kinds: dict[str, str]) -> None:
        for name, kind in self.declared.columns.items():
            if name not in kinds or not is_convertible(kinds[name], kind):
                raise BadInputError(
                    f"stream {self.stream}: the world {self._source.world!r} makes the columns"
                    f" {', '.join(f'{n} {k}' for n, k in kinds.items())}; expected {name} {kind} among them"
                )


def _world_schema(world: str, stream: str) -> pa.Schema:
    for folder, table in WORLDS[world](1_000, 1_000.0, 1, 0):
        if folder in {"", stream}:
            return table.schema
    raise BadInputError(f"the world {world!r} has no stream {stream!r}; name the stream as the world does")


def generated(
    batches: Iterable[pa.RecordBatch], world: str, stream: str, rate: float, seed: int
) -> Iterator[pa.RecordBatch]:
    """The tuples of each minute asked for, with their piece and their place in it."""
    for batch in batches:
        for row in batch.to_pylist():
            place = 0
            own_seed = (seed * _SEED_STRIDE + row[_START] // MINUTE) % _SEEDS  # numpy takes none below 0
            for folder, table in WORLDS[world](row[_TUPLES], rate, own_seed, row[_START]):
                if folder in {"", stream}:
                    inside = _before(table, row[_START] + MINUTE)
                    yield from _placed(inside, row[_PIECE], place)
                    place += inside.num_rows


def _before(table: pa.Table, end: int) -> pa.Table:
    time = next(field.name for field in table.schema if pa.types.is_timestamp(field.type))
    return table.filter(
        pc.less(table[time].cast(pa.timestamp("us", tz="UTC")), pa.scalar(end, pa.timestamp("us", tz="UTC")))
    )


def _placed(table: pa.Table, piece: str, first: int) -> Iterator[pa.RecordBatch]:
    placed = table.append_column(FILE, pa.array([piece] * table.num_rows, pa.string()))
    placed = placed.append_column(POSITION, pa.array(range(first, first + table.num_rows), pa.int64()))
    yield from placed.combine_chunks().to_batches()
