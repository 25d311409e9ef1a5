from __future__ import annotations

import pytest

from panelake.kernels.window_spec import WindowSpec


def test_bounds_of_a_time_window():
    window = WindowSpec(range=180, slide=60, shift=5)
    assert (window.start(3), window.end(3)) == (5, 185)


def test_bounds_of_a_row_window():
    window = WindowSpec.over_rows(range=200, slide=50)
    assert (window.start(3), window.end(3)) == (150, 350)


def test_windows_due_in_a_slice_end_after_its_start_and_by_its_end():
    window = WindowSpec(range=180, slide=60)
    assert window.ending_in(300, 600) == range(6, 11)
    assert window.ending_in(601, 659) == range(11, 11)


def test_windows_that_hold_a_position():
    assert WindowSpec(180, 60).holding(60) == range(2, 5)
    assert len(WindowSpec(5, 20).holding(3)) == 0


@pytest.mark.parametrize(("extent", "slide"), [(0, 1), (1, 0), (-5, 5)])
def test_empty_windows_are_refused(extent, slide):
    with pytest.raises(ValueError, match=f"must be positive; got range {extent}, slide {slide}"):
        WindowSpec(extent, slide)
