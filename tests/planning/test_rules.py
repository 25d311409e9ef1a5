"""The three rules: which claims hold for any set of queries, and where the paper's rule fails."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.kernels.window_spec import WindowSpec
from panelake.planning.cuts import Cuts, Grid
from panelake.planning.rules import (
    RULES,
    Rule,
    best_rule,
    classify,
    cuts_by,
    gcd_cuts,
    minimal_cuts,
    paper_cuts,
    paper_id_cuts,
    residue_cuts,
)

row_windows = st.builds(WindowSpec.over_rows, st.integers(1, 80), st.integers(1, 40))
time_windows = st.builds(WindowSpec, st.integers(1, 80), st.integers(1, 40), st.integers(0, 60))
any_windows = st.lists(row_windows | time_windows, min_size=1, max_size=5)


def rows(range_: int, slide: int) -> WindowSpec:
    return WindowSpec.over_rows(range_, slide)


def has_exact_windows(cuts: Cuts, windows: list[WindowSpec]) -> bool:
    """Whether every window starts and ends at a cut, so that it is a union of whole panes."""
    return all(
        cuts.is_cut(window.start(k)) and cuts.is_cut(window.end(k)) for window in windows for k in range(-60, 60)
    )


@pytest.mark.parametrize("rule", RULES)
@settings(deadline=None, derandomize=True)
@given(windows=any_windows)
def test_every_window_is_a_union_of_whole_panes(rule: Rule, windows: list[WindowSpec]) -> None:
    cuts = cuts_by(rule, windows)
    assert has_exact_windows(cuts, windows)
    for window in windows:
        starts = list(cuts.starts_in(window.start(3), window.end(3)))
        ends = [cuts.next_cut(start) for start in starts]
        assert (starts[0], ends[-1], starts[1:]) == (window.start(3), window.end(3), ends[:-1])


@settings(deadline=None, derandomize=True)
@given(windows=any_windows)
def test_residues_are_never_finer_than_the_gcd_and_minimal_cuts_never_than_residues(windows: list[WindowSpec]) -> None:
    gcd, residues, minimal = (float(rule(windows).density) for rule in (gcd_cuts, residue_cuts, minimal_cuts))
    assert minimal <= residues <= gcd


@settings(deadline=None, derandomize=True)
@given(windows=any_windows)
def test_minimal_cuts_lie_only_where_a_window_starts_or_ends(windows: list[WindowSpec]) -> None:
    bounds = {bound(k) for window in windows for bound in (window.start, window.end) for k in range(-200, 201)}
    assert set(minimal_cuts(windows).starts_in(-40, 41)) <= bounds


@settings(deadline=None, derandomize=True)
@given(window=row_windows)
def test_the_papers_rule_is_right_for_a_single_indivisible_query(window: WindowSpec) -> None:
    if math.gcd(window.range, window.slide) == 1:
        assert has_exact_windows(paper_id_cuts([window]), [window])


def test_the_papers_worked_sizes() -> None:
    assert paper_cuts([rows(200, 50), rows(400, 100)]) == Cuts.of([Grid(50, 0)])
    assert paper_cuts([rows(30, 7)]).sizes() == (2, 5)
    assert gcd_cuts([rows(30, 7)]).sizes() == (1,)


def test_the_size_the_paper_prints_is_not_the_one_of_its_example() -> None:
    """Range 30, slide 7: P_o = 30 mod 7 = 2; g_r − P_o = 28 does not fill a slide, g_s − P_o = 5 does."""
    printed, own_example = 30 - 30 % 7, 7 - 30 % 7
    assert (30 % 7 + printed, 30 % 7 + own_example) == (30, 7)
    assert not has_exact_windows(Cuts.of([Grid(30, 0), Grid(30, 2)]), [rows(30, 7)])


@pytest.mark.parametrize(
    ("windows", "sizes"),
    [
        ([rows(30, 7), rows(31, 7)], (1, 6)),
        ([rows(9, 4), rows(7, 4)], (1, 3)),
        ([rows(5, 3), rows(7, 2)], (1,)),
    ],
)
def test_the_papers_indivisible_rule_fails_for_several_queries(
    windows: list[WindowSpec], sizes: tuple[int, ...]
) -> None:
    cuts = paper_id_cuts(windows)
    assert cuts.sizes() == sizes
    assert has_exact_windows(cuts, windows) == (sizes == (1,))
    assert has_exact_windows(residue_cuts(windows), windows)


def test_thirty_and_thirty_one_by_seven_are_wrong_in_every_window() -> None:
    windows = [rows(30, 7), rows(31, 7)]
    cuts = paper_id_cuts(windows)
    assert not any(cuts.is_cut(window.end(k)) for window in windows for k in range(-50, 50))


def test_about_nine_in_ten_random_indivisible_sets_fail_the_papers_rule() -> None:
    sets = [
        [rows(r, s), rows(q, t)]
        for r in range(5, 60, 6)
        for s in range(3, 20, 4)
        for q in range(7, 60, 6)
        for t in range(3, 20, 4)
        if classify([rows(r, s), rows(q, t)]) == "ID" and (r, s) != (q, t) and math.gcd(s, t) > 1
    ]
    failing = sum(not has_exact_windows(paper_id_cuts(windows), windows) for windows in sets)
    assert failing / len(sets) > 0.8


def test_a_slide_of_one_gives_the_paper_a_pane_of_no_size() -> None:
    assert 9 % 1 == 0
    assert paper_id_cuts([rows(9, 1)]).sizes() == (1,)


@pytest.mark.parametrize(
    ("windows", "kind"),
    [
        ([rows(200, 50), rows(400, 100)], "AD"),
        ([rows(30, 7)], "ID"),
        ([rows(30, 7), rows(31, 7)], "ID"),
        ([rows(30, 7), rows(20, 10)], "UD"),
    ],
)
def test_kinds(windows: list[WindowSpec], kind: str) -> None:
    assert classify(windows) == kind


def test_worked_examples_of_residues_and_minimal_cuts() -> None:
    """30/14: 2 panes a slide, not 7; 30/7 with 20/9: 28 cuts in 63 tuples, where a gcd cuts at every tuple."""
    assert residue_cuts([rows(30, 14)]).count(0, 14) == 2
    assert gcd_cuts([rows(30, 14)]).count(0, 14) == 7
    assert minimal_cuts([rows(30, 7), rows(20, 9)]).count(0, 63) == 28
    assert gcd_cuts([rows(30, 7), rows(20, 9)]).count(0, 63) == 63


def test_the_simplest_of_equal_rules_is_taken() -> None:
    assert best_rule([rows(200, 50), rows(400, 100)]) == "paper"
    assert best_rule([rows(30, 7), rows(31, 7)]) == "residues"
    assert best_rule([rows(30, 7), rows(20, 9)]) == "minimal"
