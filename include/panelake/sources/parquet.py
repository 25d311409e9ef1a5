"""Parquet files: what their footers tell, and their tuples as Spark reads them.

Files whose columns are the declared ones are read as they are. Others are read by their own columns, which are
converted where no value can suffer; where that cannot be, or columns are too many or too few, tuples carry the fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import reduce

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.errors import BadInputError
from panelake.slices import Slice, to_microseconds
from panelake.sources.conversion import converted, drift_fault, is_convertible
from panelake.sources.files import SourceFile, open_file
from panelake.sources.glance import Glance, glance
from panelake.sources.inputs import NOTHING, UNKNOWN, InputFile, TimeSpan
from panelake.sources.landed import LandedFiles, load
from panelake.sources.source import (
    BLOCK,
    DETAIL,
    FAULT,
    FILE,
    POSITION,
    RAW,
    as_json,
    column,
    empty_frame,
    nothing,
    schema_of,
)
from panelake.spark.types import arrow_type


class Reader(LandedFiles):
    """Reads a stream's Parquet files."""

    parses = False

    def span(self, piece: SourceFile) -> TimeSpan:
        """The file's least and greatest event time by its footer; unknown where it keeps no statistics."""
        footer = _footer(self.stream, piece)
        groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
        spans = [_group_span(group, self.declared.event_time) for group in groups]
        return reduce(_joined, spans, NOTHING)

    def glance(self, taken: InputFile, part: Slice) -> Glance | None:
        """What the file's event times tell of the slice, where its columns are the declared ones."""
        name = self.declared.event_time
        filesystem, path = open_file(self.stream, taken.file.path)
        with pq.ParquetFile(path, filesystem=filesystem) as file:
            if not self._conforms(file.schema_arrow):
                return None
            takes_all = self.declared.source.rule != "event_time"
            spans = (part, *taken.late)
            elsewhere = () if takes_all else _groups_apart(file.metadata, name, spans)
            return glance(taken.file, file, name, part, late=taken.late, elsewhere=elsewhere, takes_all=takes_all)

    def read(self, spark: SparkSession, pieces: Sequence[SourceFile]) -> DataFrame:
        """The tuples; files with the same columns are read in one go."""
        groups: dict[str, list[SourceFile]] = {}
        for piece in pieces:
            groups.setdefault(self._kind(piece), []).append(piece)
        frames = [self._drifted(spark, files) if own else self._declared(spark, files) for own, files in groups.items()]
        return reduce(DataFrame.unionByName, frames) if frames else empty_frame(spark, self.declared)

    def _kind(self, piece: SourceFile) -> str:
        """Empty for files of the declared columns; the same text for files of the same others."""
        own = _footer(self.stream, piece).schema.to_arrow_schema()
        return "" if self._conforms(own) else str(own.remove_metadata())

    def _load(self, spark: SparkSession, files: Sequence[SourceFile], schema: str | None = None) -> DataFrame:
        return load(spark, "parquet", files, schema)

    def _conforms(self, own: pa.Schema) -> bool:
        names = set(own.names) if not self.accepts_extra else set(own.names) & set(self.declared.columns)
        return names == set(self.declared.columns) and all(
            _same_type(own.field(name).type, arrow_type(kind)) for name, kind in self.declared.columns.items()
        )

    def _declared(self, spark: SparkSession, files: list[SourceFile]) -> DataFrame:
        frame = self._load(spark, files, schema_of(self.declared.columns))
        own = [column(name) for name in self.declared.columns]
        return frame.select(*own, *[nothing().alias(name) for name in (FAULT, DETAIL, RAW)], *_place())

    def _drifted(self, spark: SparkSession, files: list[SourceFile]) -> DataFrame:
        """Files by their own columns: each is taken where it can be converted, and the tuple says what cannot."""
        frame = self._load(spark, files)
        own = {field.name: field.dataType.simpleString() for field in frame.schema}
        nanoseconds = _nanosecond_columns(_footer(self.stream, files[0]).schema.to_arrow_schema())
        kinds = own | dict.fromkeys(nanoseconds, "nanoseconds")
        values = {name: converted(kinds.get(name), name, kind) for name, kind in self.declared.columns.items()}
        fault, detail = self._fault(kinds, values)
        raw = F.when(fault.isNotNull(), as_json(own))
        columns = [value.alias(name) for name, value in values.items()]
        return frame.select(*columns, fault.alias(FAULT), detail.alias(DETAIL), raw.alias(RAW), *_place())

    def _fault(self, own: dict[str, str], values: dict[str, Column]) -> tuple[Column, Column]:
        declared = self.declared.columns
        extra = [] if self.accepts_extra else [name for name in own if name not in declared]
        missing = [name for name in declared if name not in own and name not in self.optional]
        wrong = [name for name in declared if name in own and not is_convertible(own[name], declared[name])]
        if extra or missing or wrong:
            fault, detail = drift_fault(extra, missing, [f"{name} ({own[name]})" for name in wrong])
            return F.lit(fault), F.lit(detail)
        lost = nothing()
        for name in own:
            if name in declared:
                lost = F.when(column(name).isNotNull() & values[name].isNull(), F.lit(name)).otherwise(lost)
        return F.when(lost.isNotNull(), F.lit("wrong type")), lost


def _place() -> list[Column]:
    return [
        F.col("_metadata.file_path").alias(FILE),
        F.col("_metadata.row_index").alias(POSITION),
        F.col("_metadata.file_block_start").alias(BLOCK),
    ]


def _footer(stream: str, file: SourceFile) -> pq.FileMetaData:
    filesystem, path = open_file(stream, file.path)
    try:
        return pq.read_metadata(path, filesystem=filesystem)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInputError(
            f"stream {stream}: {file.path} is no Parquet file ({error}); finish writing it under a name that starts"
            " with '.' or '_', or take it away"
        ) from None


def _same_type(own: pa.DataType, declared: pa.DataType) -> bool:
    """Whether Spark reads the one as the other by itself."""
    if pa.types.is_timestamp(own):
        return pa.types.is_timestamp(declared) and own.unit in {"us", "ms"}
    return own in {declared, _large(declared)}


def _large(kind: pa.DataType) -> pa.DataType:
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind)


def _nanosecond_columns(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_timestamp(field.type) and field.type.unit == "ns"]


def _joined(one: TimeSpan, other: TimeSpan) -> TimeSpan:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return UNKNOWN
    return TimeSpan(min(one.low, other.low), max(one.high, other.high))


def _groups_apart(footer: pq.FileMetaData, name: str, parts: Sequence[Slice]) -> frozenset[int]:
    """The row groups that hold no tuple of the slices, and none without a time."""
    groups = {index: footer.row_group(index) for index in range(footer.num_row_groups)}
    timed = {index: _group_span(group, name) for index, group in groups.items() if _has_no_nulls(group, name)}
    return frozenset(index for index, span in timed.items() if not any(span.overlaps(part) for part in parts))


def _has_no_nulls(group: pq.RowGroupMetaData, name: str) -> bool:
    chunks = (group.column(index) for index in range(group.num_columns))
    own = [chunk.statistics for chunk in chunks if chunk.path_in_schema == name]
    return bool(own and own[0] is not None and own[0].has_null_count and not own[0].null_count)


def _group_span(group: pq.RowGroupMetaData, name: str) -> TimeSpan:
    for index in range(group.num_columns):
        chunk = group.column(index)
        if chunk.path_in_schema == name:
            return _chunk_span(chunk)
    return UNKNOWN


def _chunk_span(chunk: pq.ColumnChunkMetaData) -> TimeSpan:
    statistics = chunk.statistics
    if statistics is None:
        return UNKNOWN
    if not statistics.has_min_max:
        return NOTHING if statistics.has_null_count and statistics.null_count == chunk.num_values else UNKNOWN
    low, high = statistics.min, statistics.max
    return TimeSpan(_instant(low), _instant(high)) if isinstance(low, datetime) else UNKNOWN


def _instant(value: datetime) -> int:
    return to_microseconds(value if value.tzinfo else value.replace(tzinfo=UTC))
