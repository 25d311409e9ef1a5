"""Conversions of a source's own column types to the declared ones: only those that keep every value or give NULL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.sources.source import column

EXTRA, MISSING, WRONG = "extra columns", "missing columns", "wrong type"
NANOSECONDS = "nanoseconds"
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_EXACT_IN_DOUBLE = ("tinyint", "smallint", "int", "float")


def is_convertible(own: str, declared: str) -> bool:
    """Whether every value of a type either becomes the same value of the other, or NULL."""
    kind = re.sub(r"\(.*\)", "", declared)
    if own == declared or (own in _WHOLE and kind in {*_WHOLE, "decimal"}):
        return True
    if declared == "timestamp":
        return own in {NANOSECONDS, "timestamp_ntz", "timestamp"}
    return declared == "double" and own in _EXACT_IN_DOUBLE


def converted(own: str | None, name: str, declared: str) -> Column:
    """The source's column as the declared type, NULL where it is absent or cannot be that."""
    if own is None or not is_convertible(own, declared):
        return F.lit(None).cast(declared)
    if own == NANOSECONDS:
        whole = (column(name) - F.pmod(column(name), F.lit(1000))).cast("decimal(20,0)") / F.lit(1000)
        return F.timestamp_micros(whole.cast("bigint"))
    return column(name).try_cast(declared)


def drift_fault(extra: Sequence[str], missing: Sequence[str], wrong: Sequence[str]) -> tuple[str, str]:
    """One fault for a whole file, and the names behind it."""
    kinds = ((EXTRA, extra), (MISSING, missing), (WRONG, wrong))
    return next((kind, ", ".join(names)) for kind, names in kinds if names)
