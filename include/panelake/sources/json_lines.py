"""JSON lines: an object a line.

Spark parses a line once. Its keys are looked at only where a column was left NULL, or where the line may hold more
keys than declared; colons tell, which are cheap to count: each key has one, and those of text values are known. Spark
reads the first object of a line alone: of two that lost the line's end between them, neither is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add, or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.sources.conversion import EXTRA, MISSING, WRONG
from panelake.sources.files import SourceFile
from panelake.sources.landed import LandedFiles
from panelake.sources.lines import LINE, TEXT, line_fault, raw_text, read_lines, without_mark
from panelake.sources.source import DETAIL, FAULT, PLACE, RAW, empty_frame, nothing, schema_of

_CORRUPT = "_corrupt"
_PARSED = "_parsed"
_UNREADABLE = "not a JSON object"
_NO = False
_TEXTUAL = ("string", "timestamp", "date")  # read as texts: a timestamp's own text is needed to count its colons


class Reader(LandedFiles):
    """Reads a stream's JSON files."""

    def read(self, spark: SparkSession, pieces: Sequence[SourceFile]) -> DataFrame:
        """The tuples of the files."""
        return self.parsed(read_lines(spark, pieces)) if pieces else empty_frame(spark, self.declared)

    def parsed(self, lines: DataFrame) -> DataFrame:
        """Lines as tuples with their faults."""
        unfit = line_fault(F.col(LINE), self.declared.source.max_line)
        text = F.when(F.col(FAULT).isNull(), without_mark(F.col(LINE)))
        schema = f"{schema_of(self._parsed_types())}, {_CORRUPT} string"
        options = {"columnNameOfCorruptRecord": _CORRUPT, "mode": "PERMISSIVE"}
        parsed = (
            lines.withColumn(FAULT, unfit)
            .withColumn(TEXT, F.when(F.startswith(F.ltrim(text), F.lit("{")), text))
            .withColumn(_PARSED, F.from_json(TEXT, schema, options))
        )
        values = [self._value(name, kind).alias(name) for name, kind in self.declared.columns.items()]
        checked = parsed.select(*values, self._found().alias("_found"), LINE, *PLACE)
        fault = F.col("_found.fault")
        raw = raw_text(F.col(LINE))
        own = [F.col(f"`{name}`") for name in self.declared.columns]
        return checked.select(*own, fault.alias(FAULT), F.col("_found.detail").alias(DETAIL), raw.alias(RAW), *PLACE)

    def _parsed_types(self) -> dict[str, str]:
        kinds = self.declared.columns.items()
        return {name: "string" if kind in _TEXTUAL else kind for name, kind in kinds}

    def _value(self, name: str, kind: str) -> Column:
        value = _parsed(name)
        return value.try_cast(kind) if kind in _TEXTUAL and kind != "string" else value

    def _found(self) -> Column:
        """The first fault and the names behind it, a struct of NULLs where there is none."""
        names = F.json_object_keys(F.col(TEXT))
        extra = F.array_except(names, _texts(self.declared.columns))
        missing = F.array_except(_texts([n for n in self.declared.columns if n not in self.optional]), names)
        wrong = self._wrong()
        suspicious = self._is_suspicious()
        is_one = F.coalesce(
            F.size(F.from_json(F.concat(F.lit("["), TEXT, F.lit("]")), "array<string>")) == 1, F.lit(_NO)
        )
        found = (
            F.when(F.col(FAULT).isNotNull(), _fault(F.col(FAULT)))
            .when(F.col(TEXT).isNull(), _fault(F.lit(_UNREADABLE)))
            .when(F.col(f"{_PARSED}.{_CORRUPT}").isNotNull(), self._corrupt())
            .when(suspicious & ~is_one, _fault(F.lit(_UNREADABLE)))
            .when(wrong.isNotNull(), _fault(F.lit(WRONG), wrong))
        )
        if not self.accepts_extra:
            found = found.when(suspicious & (F.size(extra) > 0), _fault(F.lit(EXTRA), F.array_join(extra, ", ")))
        found = found.when(suspicious & (F.size(missing) > 0), _fault(F.lit(MISSING), F.array_join(missing, ", ")))
        return found.otherwise(_fault(nothing()))

    def _is_suspicious(self) -> Column:
        """Whether the keys may differ from the declared ones, or more may follow: never false where they do."""
        is_null = reduce(or_, (_parsed(name).isNull() for name in self.declared.columns))
        texts = [_colons(_parsed(name)) for name, kind in self.declared.columns.items() if kind in _TEXTUAL]
        expected = reduce(add, texts, F.lit(len(self.declared.columns)))
        goes_on = ~F.endswith(F.col(TEXT), F.lit("}"))
        return goes_on | is_null | (_colons(F.col(TEXT)) != expected) | F.contains(F.col(TEXT), F.lit("\\u"))

    def _wrong(self) -> Column:
        """The first column whose text is no value of its type."""
        wrong = nothing()
        for name, kind in self.declared.columns.items():
            if kind in _TEXTUAL and kind != "string":
                wrong = F.when(_parsed(name).isNotNull() & self._value(name, kind).isNull(), F.lit(name)).otherwise(
                    wrong
                )
        return wrong

    def _corrupt(self) -> Column:
        """What Spark could not parse: a line that is no object, or a value of another type."""
        wrong = nothing()
        for name in self.declared.columns:
            is_lost = F.get_json_object(TEXT, f"$.{name}").isNotNull() & _parsed(name).isNull()
            wrong = F.when(is_lost, F.lit(name)).otherwise(wrong)
        is_object = F.json_object_keys(F.col(TEXT)).isNotNull()
        return F.when(is_object & wrong.isNotNull(), _fault(F.lit(WRONG), wrong)).otherwise(_fault(F.lit(_UNREADABLE)))


def _parsed(name: str) -> Column:
    return F.col(f"{_PARSED}.`{name}`")


def _fault(fault: Column, detail: Column | None = None) -> Column:
    return F.struct(fault.alias("fault"), (nothing() if detail is None else detail).alias("detail"))


def _texts(names: Sequence[str] | dict[str, str]) -> Column:
    return F.array(*[F.lit(name) for name in names]) if names else F.array().cast("array<string>")


def _colons(text: Column) -> Column:
    # `replace` looks for bytes; `translate` would look up every character in a table.
    return F.octet_length(text) - F.octet_length(F.replace(text, F.lit(":"), F.lit("")))
