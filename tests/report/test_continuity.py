from __future__ import annotations

import pytest

from panelake.numbers import NumberRange
from panelake.report.continuity import continuity
from panelake.slices import Slice


def ranges(*given: tuple[int, int]) -> list[NumberRange]:
    return [NumberRange(Slice(place, place + 1), first, count) for place, (first, count) in enumerate(given)]


@pytest.mark.parametrize(
    ("given", "breaks"),
    [
        ([(0, 5), (5, 3)], ()),
        ([(5, 3), (0, 5), (-4, 4)], ()),  # history counts down, gaps are filled late
        ([(0, 5), (5, 0), (5, 1)], ()),  # a slice without tuples takes no number
        ([(0, 5), (7, 3)], ("5 to 6 were never given",)),
        ([(0, 5), (3, 4)], ("3 to 4 were given twice",)),
        ([(0, 9), (3, 2), (9, 1)], ("3 to 4 were given twice",)),
    ],
)
def test_numbers_left_out_or_given_twice_are_told(given: list[tuple[int, int]], breaks: tuple[str, ...]) -> None:
    found = continuity(ranges(*given))
    assert found is not None
    assert found.breaks == breaks
    assert found.dense == (not breaks)


def test_a_stream_without_numbers_has_no_continuity() -> None:
    assert continuity([]) is None
    assert continuity(ranges((0, 0))) is None
