"""Numbers, instants and durations as a person reads them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from panelake.durations import DAY, HOUR, MINUTE, SECOND
from panelake.slices import to_datetime, to_microseconds

NOTHING = "–"
_BIG = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def instant(microseconds: int) -> str:
    """2026-01-01 00:05, with seconds only where there are some."""
    when = to_datetime(microseconds)
    if not when.second and not when.microsecond:
        return f"{when:%Y-%m-%d %H:%M}"
    return f"{when:%Y-%m-%d %H:%M:%S}" + (f".{when.microsecond:06}".rstrip("0") if when.microsecond else "")


def duration(microseconds: float | None) -> str:
    """The two greatest units: 1 h 5 min; 2.5 s."""
    if microseconds is None:
        return NOTHING
    if microseconds < 0:
        return f"−{duration(-microseconds)}"
    if microseconds < MINUTE:
        return f"{microseconds / SECOND:,.3g} s"
    pairs = ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", SECOND, "s"))
    unit, name, below, smaller = next(pair for pair in pairs if microseconds >= pair[0])
    rest = int(microseconds % unit // below)
    return f"{int(microseconds // unit):,} {name}" + (f" {rest} {smaller}" if rest else "")


def number(value: Any) -> str:
    """A cell: whole numbers with separators, others with five digits, nothing as a dash."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.5g}" if isinstance(value, float) else text(value)


def text(value: Any) -> str:
    """Anything else: instants in UTC, the rest as Python says it."""
    if isinstance(value, datetime):
        return instant(to_microseconds(value))
    return value.isoformat() if isinstance(value, date) else str(value)


def short_number(value: float) -> str:
    """An axis label: 250k, 1.5M, 0.02."""
    for size, letter in _BIG:
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def seconds(value: float | None) -> str:
    """A number of seconds as a duration."""
    return NOTHING if value is None else duration(value * SECOND)


def share(value: float | None) -> str:
    """An accuracy or a part of a whole."""
    return NOTHING if value is None else f"{value:.2%}"


def clipped(value: str, length: int) -> str:
    """No longer than that, with a sign that more was there."""
    return value if len(value) <= length else f"{value[: length - 1]}…"
