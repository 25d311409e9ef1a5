"""Numbers as a person reads them: three digits, and the word or the prefix that keeps them short."""

from __future__ import annotations

import math

_THOUSANDS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_LONG = 1e4
_MINUTE, _HOUR, _DAY, _YEAR = 60.0, 3_600.0, 86_400.0, 365 * 86_400.0
_SPANS = ((2 * _YEAR, _YEAR, "years"), (2 * _DAY, _DAY, "days"), (2 * _HOUR, _HOUR, "h"), (2 * _MINUTE, _MINUTE, "min"))


def digits(value: float) -> str:
    """Three digits that count, without an exponent; whole numbers whole."""
    if value == round(value) and abs(value) < _LONG:
        return f"{value:,.0f}"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    return f"{rounded:,.{places}f}"


def number(value: float) -> str:
    """Large numbers by thousands: 1,234 and 12.3 k, 4.56 M."""
    for size, letter in _THOUSANDS:
        if abs(value) >= max(size, _LONG):
            return f"{digits(value / size)} {letter}"
    return digits(value)


def quantity(value: float, unit: str) -> str:
    """With its unit; bytes by thousands too: 2.5 GB/s."""
    if not unit.startswith("bytes"):
        return f"{number(value)} {unit}"
    for size, letter in _THOUSANDS:
        if value >= size:
            return f"{digits(value / size)} {letter}B{unit.removeprefix('bytes')}"
    return f"{digits(value)} B{unit.removeprefix('bytes')}"


def span(seconds: float) -> str:
    """Seconds, minutes, hours, days or years."""
    for least, size, word in _SPANS:
        if seconds >= least:
            return f"{digits(seconds / size)} {word}"
    return f"{digits(seconds)} s"
