"""Cuts as arithmetic over grids, against cuts written out one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.planning.cuts import Cuts, Grid

grids = st.builds(Grid, slide=st.integers(1, 24), residue=st.integers(-50, 50))
some_cuts = st.lists(grids, min_size=1, max_size=5).map(Cuts.of)


def written_out(cuts: Cuts, low: int, high: int) -> list[int]:
    return [at for at in range(low, high) if any((at - grid.residue) % grid.slide == 0 for grid in cuts.grids)]


@settings(deadline=None, derandomize=True)
@given(cuts=some_cuts, low=st.integers(-200, 200), length=st.integers(0, 300))
def test_counts_and_starts_equal_the_cuts_written_out(cuts: Cuts, low: int, length: int) -> None:
    expected = written_out(cuts, low, low + length)
    assert cuts.count(low, low + length) == len(expected)
    assert list(cuts.starts_in(low, low + length)) == expected


@settings(deadline=None, derandomize=True)
@given(cuts=some_cuts, position=st.integers(-300, 300))
def test_a_pane_reaches_from_the_last_cut_to_the_next(cuts: Cuts, position: int) -> None:
    start, end = cuts.start(position), cuts.next_cut(position)
    assert start <= position < end
    assert written_out(cuts, start, end) == [start]
    assert cuts.is_cut(end)


@settings(deadline=None, derandomize=True)
@given(grids=st.lists(grids, min_size=1, max_size=6))
def test_dropping_implied_grids_loses_no_cut(grids: list[Grid]) -> None:
    assert written_out(Cuts.of(grids), -100, 100) == written_out(Cuts(tuple(grids)), -100, 100)


@settings(deadline=None, derandomize=True)
@given(cuts=some_cuts)
def test_the_density_is_cuts_per_period(cuts: Cuts) -> None:
    period = 1
    for grid in cuts.grids:
        period *= grid.slide
    assert cuts.density * period == cuts.count(0, period)


@settings(deadline=None, derandomize=True)
@given(one=grids, other=grids)
def test_grids_meet_where_both_have_a_position(one: Grid, other: Grid) -> None:
    both = one.common(other)
    met = set(written_out(Cuts((one,)), 0, 600)) & set(written_out(Cuts((other,)), 0, 600))
    assert met == (set() if both is None else set(written_out(Cuts((both,)), 0, 600)))


def test_sql_names_the_greatest_start() -> None:
    assert Cuts.of([Grid(60, 0)]).sql("t") == "t - pmod(t, 60)"
    assert Cuts.of([Grid(7, 2), Grid(7, 0)]).sql("t") == "greatest(t - pmod(t, 7), t - pmod(t - 2, 7))"
    assert Cuts.of([Grid(7, 2), Grid(7, 0)]).next_sql("t") == "least(t - pmod(t, 7) + 7, t - pmod(t - 2, 7) + 7)"


def test_a_grid_without_a_slide_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive; got 0"):
        Grid(0, 0)
