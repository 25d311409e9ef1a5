"""Durations as users write them ("5 minutes", "90s"), as whole microseconds inside."""

from __future__ import annotations

import re

from panelake.errors import BadInputError

MICROSECOND = 1
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

_UNITS = {
    "microsecond": MICROSECOND, "us": MICROSECOND,
    "millisecond": MILLISECOND, "ms": MILLISECOND,
    "second": SECOND, "sec": SECOND, "s": SECOND,
    "minute": MINUTE, "min": MINUTE, "m": MINUTE,
    "hour": HOUR, "h": HOUR,
    "day": DAY, "d": DAY,
    "week": WEEK, "w": WEEK,
}  # fmt: skip
_CALENDAR = {"month", "mon", "year", "y", "quarter"}
_FORM = re.compile(r"\s*(\d+)\s*([A-Za-z]+)\s*")
_EXPECTED = "expected a whole number and a unit from microseconds to weeks, such as '5 minutes' or '90s'"


def unit_microseconds(word: str) -> int | None:
    """Microseconds in one of the unit, singular or plural, any case; None where it is no unit."""
    lower = word.lower()
    if lower in _UNITS:
        return _UNITS[lower]
    return _UNITS.get(lower[:-1]) if lower.endswith("s") else None


def is_calendar_unit(word: str) -> bool:
    """Months and years, whose length varies: they cannot lie on a fixed grid."""
    return word.lower() in _CALENDAR or word.lower().removesuffix("s") in _CALENDAR


def parse_duration(text: str) -> int:
    """Microseconds of a duration; zero is allowed, callers that need more say so."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise BadInputError(f"{text!r} is not a duration; {_EXPECTED}")
    number, word = match.groups()
    if is_calendar_unit(word):
        raise BadInputError(f"{text!r}: months and years vary in length; use days or weeks")
    unit = unit_microseconds(word)
    if unit is None:
        raise BadInputError(f"{text!r}: unknown unit {word!r}; {_EXPECTED}")
    return int(number) * unit


def format_duration(microseconds: int) -> str:
    """The shortest whole form: 300_000_000 → '5 minutes'."""
    names = (
        (WEEK, "week"),
        (DAY, "day"),
        (HOUR, "hour"),
        (MINUTE, "minute"),
        (SECOND, "second"),
        (MILLISECOND, "millisecond"),
    )
    for unit, name in names:
        if microseconds and microseconds % unit == 0:
            count = microseconds // unit
            return f"{count} {name}" + ("" if count == 1 else "s")
    return f"{microseconds} microsecond" + ("" if microseconds == 1 else "s")
