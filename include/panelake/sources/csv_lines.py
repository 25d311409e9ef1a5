"""CSV files: a line a tuple, columns by the file's header, or by the declared order where there is none."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.errors import BadInputError
from panelake.sources.conversion import WRONG, drift_fault
from panelake.sources.files import SourceFile, open_file
from panelake.sources.landed import LandedFiles
from panelake.sources.lines import LINE, TEXT, line_fault, raw_text, read_lines, without_mark
from panelake.sources.source import DETAIL, FAULT, PLACE, POSITION, RAW, empty_frame, nothing, schema_of

_CORRUPT = "_corrupt"
_PARSED = "_parsed"
_MISFIT = "other than the header's number of columns"


class Reader(LandedFiles):
    """Reads a stream's CSV files."""

    def read(self, spark: SparkSession, pieces: Sequence[SourceFile]) -> DataFrame:
        """The tuples; files with the same header are read in one go."""
        groups: dict[tuple[str, ...], list[SourceFile]] = {}
        for piece in pieces:
            groups.setdefault(self._header(piece), []).append(piece)
        frames = [self._read_group(spark, names, files) for names, files in groups.items()]
        return reduce(DataFrame.unionByName, frames) if frames else empty_frame(spark, self.declared)

    def _header(self, piece: SourceFile) -> tuple[str, ...]:
        if not self.declared.source.header:
            return tuple(self.declared.columns)
        filesystem, path = open_file(self.stream, piece.path)
        limit = self.declared.source.max_line
        try:
            with filesystem.open_input_stream(path) as stream:
                first = stream.read(limit).partition(b"\n")[0]
        except (OSError, pa.ArrowInvalid) as error:
            raise BadInputError(f"stream {self.stream}: {piece.path} cannot be read: {error}") from None
        text = first.decode("utf-8", errors="replace").removeprefix("\ufeff").rstrip("\r")
        return tuple(name.strip() for name in next(csv.reader([text], delimiter=self.declared.source.delimiter), []))

    def _read_group(self, spark: SparkSession, names: tuple[str, ...], files: list[SourceFile]) -> DataFrame:
        lines = read_lines(spark, files)
        return self._by_header(lines.where(F.col(POSITION) > 0) if self.declared.source.header else lines, names)

    def parsed_by_header(self, lines: DataFrame, piece: SourceFile) -> DataFrame:
        """Lines that came from this file."""
        return self._by_header(lines, self._header(piece))

    def _by_header(self, lines: DataFrame, names: tuple[str, ...]) -> DataFrame:
        drift = self._drift(names)
        return self._unfit(lines, *drift) if drift else self.parsed(lines, names)

    def _drift(self, names: tuple[str, ...]) -> tuple[str, str] | None:
        declared = self.declared.columns
        extra = [] if self.accepts_extra else [name for name in names if name not in declared]
        missing = [name for name in declared if name not in names and name not in self.optional]
        twice = [name for name in names if names.count(name) > 1]
        return drift_fault(extra or twice, missing, []) if extra or twice or missing else None

    def _unfit(self, lines: DataFrame, fault: str, detail: str) -> DataFrame:
        """All lines of files whose header is not what was declared."""
        values = [F.lit(None).cast(kind).alias(name) for name, kind in self.declared.columns.items()]
        raw = raw_text(F.col(LINE)).alias(RAW)
        return lines.select(*values, F.lit(fault).alias(FAULT), F.lit(detail).alias(DETAIL), raw, *PLACE)

    def parsed(self, lines: DataFrame, names: Sequence[str]) -> DataFrame:
        """Lines as tuples with their faults; columns of the header that nobody declared are texts, and left."""
        kinds = {name: self.declared.columns.get(name, "string") for name in names}
        unfit = line_fault(F.col(LINE), self.declared.source.max_line)
        options = {
            "columnNameOfCorruptRecord": _CORRUPT,
            "mode": "PERMISSIVE",
            "sep": self.declared.source.delimiter,
            "maxCharsPerColumn": "-1",
        }
        parsed = (
            lines.withColumn(FAULT, unfit)
            .withColumn(TEXT, F.when(F.col(FAULT).isNull(), without_mark(F.col(LINE))))
            .withColumn(_PARSED, F.from_csv(TEXT, f"{schema_of(kinds)}, {_CORRUPT} string", options))
        )
        texts = F.from_csv(TEXT, f"{schema_of(dict.fromkeys(names, 'string'))}, {_CORRUPT} string", options)
        found = self._found(texts, names)
        values = [self._value(name, kind, names).alias(name) for name, kind in self.declared.columns.items()]
        checked = parsed.select(*values, found.alias("_found"), LINE, *PLACE)
        fault = F.col("_found.fault")
        raw = raw_text(F.col(LINE))
        own = [F.col(f"`{name}`") for name in self.declared.columns]
        return checked.select(*own, fault.alias(FAULT), F.col("_found.detail").alias(DETAIL), raw.alias(RAW), *PLACE)

    @staticmethod
    def _value(name: str, kind: str, names: Sequence[str]) -> Column:
        return F.col(f"{_PARSED}.`{name}`") if name in names else F.lit(None).cast(kind)

    def _found(self, texts: Column, names: Sequence[str]) -> Column:
        wrong = nothing()
        for name in self.declared.columns:
            if name in names:
                is_lost = texts[name].isNotNull() & F.col(f"{_PARSED}.`{name}`").isNull()
                wrong = F.when(is_lost, F.lit(name)).otherwise(wrong)
        corrupt = F.when(texts[_CORRUPT].isNotNull(), _fault(F.lit(_MISFIT))).otherwise(_fault(F.lit(WRONG), wrong))
        return (
            F.when(F.col(FAULT).isNotNull(), _fault(F.col(FAULT)))
            .when(F.col(f"{_PARSED}.{_CORRUPT}").isNotNull(), corrupt)
            .otherwise(_fault(nothing()))
        )


def _fault(fault: Column, detail: Column | None = None) -> Column:
    return F.struct(fault.alias("fault"), (nothing() if detail is None else detail).alias("detail"))
