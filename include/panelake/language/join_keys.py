"""By which columns a join's streams are equal: the classes that WHERE's equalities make of the columns.

A class with a column of every stream is a key; what is equal beyond that is a condition like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from panelake.language.expressions import unwrap
from panelake.language.join_columns import columns_in

Reference = tuple[str, str]  # alias, column
_WHOLE = ("tinyint", "smallint", "int", "integer", "bigint", "byte", "short", "long")
_WHOLE_DIGITS = 19
_MOST_DIGITS = 38
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,\s*(\d+))?\))?")
_SAME = ("string", "date", "timestamp", "timestamp_ntz", "boolean", "binary")


def equality(condition: exp.Expr) -> tuple[Reference, Reference] | None:
    """The two columns of different streams that a condition holds equal; None for any other condition."""
    if not isinstance(condition, exp.EQ):
        return None
    left, right = unwrap(condition.this), unwrap(condition.expression)
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    (one,), (other,) = columns_in(left), columns_in(right)
    return None if one[0] == other[0] else (one, other)


def equal_classes(pairs: Iterable[tuple[Reference, Reference]]) -> list[list[Reference]]:
    """Columns that are equal by one condition or a chain of them, each class in the order met."""
    classes: list[list[Reference]] = []
    for pair in pairs:
        mine = [one for one in classes if any(reference in one for reference in pair)]
        joined = list(dict.fromkeys(reference for one in [*mine, list(pair)] for reference in one))
        classes = [one for one in classes if one not in mine] + [joined]
    return classes


def covers(members: Sequence[Reference], aliases: Iterable[str]) -> bool:
    """Whether a class has a column of every stream."""
    return set(aliases) <= {alias for alias, _ in members}


def common_type(members: Sequence[Reference], schemas: Mapping[str, Mapping[str, str]]) -> str | None:
    """The Spark type in which a class is compared without loss; None where its types cannot be."""
    kinds = {" ".join(schemas[alias][name].lower().split()) for alias, name in members}
    if len(kinds) == 1 and next(iter(kinds)) in _SAME:
        return next(iter(kinds))
    if all(kind in _WHOLE for kind in kinds):
        return "bigint"
    return _common_decimal(kinds)


def _common_decimal(kinds: set[str]) -> str | None:
    whole, scale = 0, 0
    for kind in kinds:
        match = _DECIMAL.fullmatch(kind)
        if match is None and kind not in _WHOLE:
            return None
        digits, places = (int(match[1] or 10), int(match[2] or 0)) if match else (_WHOLE_DIGITS, 0)
        whole, scale = max(whole, digits - places), max(scale, places)
    return f"decimal({whole + scale},{scale})" if whole + scale <= _MOST_DIGITS else None
