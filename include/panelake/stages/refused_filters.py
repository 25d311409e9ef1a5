"""A filter that raises refuses the slice: the error says which, and what to do; nothing of the slice is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from panelake.errors import BadInputError
from panelake.slices import Slice

_PYTHON = re.compile(r"BadInputError: (filters\.py: [^\n]+)")
# What a condition can raise in ANSI mode, by Spark's own names.
_RAISED = re.compile(
    r"\[(?:DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|CAST_\w+|ARITHMETIC_OVERFLOW|NUMERIC_\w+|INVALID_\w+|DATETIME_\w+)[^\n]*"
)


@contextmanager
def filters_refuse(stream: str, part: Slice) -> Iterator[None]:
    """Turn what a stream's filter raises inside Spark into an error that names it."""
    try:
        yield
    except PySparkException as error:
        python, raised = _PYTHON.search(str(error)), _RAISED.search(str(error))
        if python is None and raised is None:
            raise
        why = (
            python[1]
            if python
            else f"streams.yaml: a filter of streams.{stream}.where raised {raised[0] if raised else ''}"
        )
        raise BadInputError(
            f"stream {stream}, slice {part}: {why}. Nothing of the slice was written; mend it and run the slice again"
        ) from error
