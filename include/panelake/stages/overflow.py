"""An integer or decimal sum that does not fit its type refuses the slice; it is never wrapped, and never a NULL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from panelake.errors import GateRefusedError
from panelake.slices import Slice

_IN_A_WINDOW = re.compile(r"SumOverflowError: ([^\n]+)")
_IN_A_PANE = ("ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE")


@contextmanager
def overflow_refuses(stream: str, part: Slice) -> Iterator[None]:
    """Turn Spark's report of an overflow into a refusal of the slice, naming the sum where that is known."""
    try:
        yield
    except PySparkException as error:
        found = _IN_A_WINDOW.search(str(error))
        if found is None and not any(word in str(error) for word in _IN_A_PANE):
            raise
        why = found[1] if found else f"{str(error).splitlines()[0]}; cast the summed expression to a wider decimal"
        raise GateRefusedError(f"stream {stream}, slice {part}: {why}") from error
