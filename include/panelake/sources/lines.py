"""Text files, a tuple a line: each line with its place, whatever the cut of the files into tasks.

A line's position is its number in its block of 128 MB, counted from the block's first byte: below that size it is
the line's number, from 0; beyond it, it still ascends through the file, and is the same on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.sources.files import SourceFile
from panelake.sources.landed import load
from panelake.sources.source import BLOCK, FILE, INDEX_BITS, POSITION

LINE = "_line"
TEXT = "_text"
_BYTE_ORDER_MARK = "\ufeff"


def read_lines(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    """`_line` as it came, without its end, and its place; blank lines are no tuples."""
    frame = load(spark, "text", files, lineSep="\n")
    block = F.col("_metadata.file_block_start")
    index = F.monotonically_increasing_id().bitwiseAND(F.lit(INDEX_BITS))
    placed = frame.select(
        F.col("value").alias(LINE),
        F.col("_metadata.file_path").alias(FILE),
        (block + index).alias(POSITION),
        block.alias(BLOCK),
    )
    return placed.withColumn(LINE, _without_end(F.col(LINE))).where(F.trim(LINE) != "")


def _without_end(line: Column) -> Column:
    return F.when(F.endswith(line, F.lit("\r")), F.expr(f"left({LINE}, length({LINE}) - 1)")).otherwise(line)


def line_fault(line: Column, max_bytes: int) -> Column:
    """Why a line cannot even be looked at, NULL where it can."""
    return F.when(F.octet_length(line) > max_bytes, F.lit(f"line longer than {max_bytes} bytes")).when(
        ~F.is_valid_utf8(line), F.lit("not UTF-8")
    )


def without_mark(line: Column) -> Column:
    """The line without the byte order mark that some writers put before the first."""
    return F.ltrim(line, F.lit(_BYTE_ORDER_MARK))


def raw_text(line: Column) -> Column:
    """The line whole: bytes that are no UTF-8 are kept as `base64:…`, since a text column could not hold them."""
    return F.when(F.is_valid_utf8(line), line).otherwise(F.concat(F.lit("base64:"), F.base64(line.cast("binary"))))
