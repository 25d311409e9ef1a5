from __future__ import annotations

import pytest

from panelake.capacity.words import digits, number, quantity, span


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0, "0"),
        (19, "19"),
        (19.04, "19.0"),
        (0.012345, "0.0123"),
        (1234.6, "1,230"),
        (1200.0, "1,200"),
        (-1.5, "-1.50"),
    ],
)
def test_three_digits(value, told):
    assert digits(value) == told


@pytest.mark.parametrize(("value", "told"), [(9_999, "9,999"), (12_345, "12.3 k"), (2.5e6, "2.50 M"), (3e12, "3 T")])
def test_numbers(value, told):
    assert number(value) == told


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (2.5e9, "bytes/s", "2.50 GB/s"),
        (900, "bytes/slice", "900 B/slice"),
        (86_400, "files/day", "86.4 k files/day"),
    ],
)
def test_quantities(value, unit, told):
    assert quantity(value, unit) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.5, "0.500 s"),
        (90, "90 s"),
        (300, "5 min"),
        (7_200, "2 h"),
        (86_400, "24 h"),
        (2e5, "2.31 days"),
        (1e8, "3.17 years"),
    ],
)
def test_spans(seconds, told):
    assert span(seconds) == told
