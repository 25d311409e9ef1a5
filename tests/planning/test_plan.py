"""Groups and pane sets: the worked examples, and what any plan must keep."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.durations import SECOND
from panelake.kernels.window_spec import WindowSpec
from panelake.language.query import AggregateCall, AggregateQuery, GroupKey, Output, Window
from panelake.planning.cost import cutting
from panelake.planning.cuts import Cuts, Grid
from panelake.planning.grouping import split, splits
from panelake.planning.pane_set import window_spec
from panelake.planning.plan import Plan, Statistics, build_plan


def query(name: str, window: Window, keys: tuple[str, ...] = ("area_id",)) -> AggregateQuery:
    group = tuple(GroupKey(key, f"`{key}`") for key in keys)
    calls = (AggregateCall("count", None),)
    return AggregateQuery(name, f"queries/{name}.sql", "traffic", window, group, calls, (Output("n", "`_a0`"),))


def row(name: str, range_: int, slide: int, **more: tuple[str, ...]) -> AggregateQuery:
    return query(name, Window("ROW", range_, slide), **more)


def timed(name: str, range_: int, slide: int, offset: int = 0, **more: tuple[str, ...]) -> AggregateQuery:
    return query(name, Window("TS", range_ * SECOND, slide * SECOND, offset * SECOND), **more)


def many_tuples_a_fragment(keys: tuple[str, ...] = ("`area_id`",)) -> Statistics:
    return Statistics(1e6, {keys: 1}, measured=True)


def names(plan: Plan) -> list[set[str]]:
    return [{member.name for member in pane_set.queries} for pane_set in plan.sets]


def panes_per_window(plan: Plan, name: str) -> int:
    pane_set = plan.set_of(name)
    member = next(member for member in pane_set.queries if member.name == name)
    window = window_spec(member.window)
    return pane_set.cuts_for(member).count(window.start(7), window.end(7))


PAPER = (timed("q1", 180, 60), row("q2", 200, 50), row("q3", 400, 100))


def test_the_papers_example_shares_one_set_of_fragments() -> None:
    plan = build_plan("traffic", PAPER, many_tuples_a_fragment())
    (only,) = plan.sets
    assert (only.time, only.rows) == (Cuts.of([Grid(60 * SECOND, 0)]), Cuts.of([Grid(50, 0)]))
    assert (plan.time_unit, only.role, only.kind, only.rule) == (60 * SECOND, "main", "AD", "paper")
    assert [panes_per_window(plan, name) for name in ("q1", "q2", "q3")] == [3, 4, 8]


def test_small_fragments_keep_time_and_row_panes_apart() -> None:
    plan = build_plan("traffic", PAPER, Statistics(1000.0, {("`area_id`",): 6}, measured=True))
    assert names(plan) == [{"q2", "q3"}, {"q1"}]
    assert all(pane_set.why.startswith("apart: fragments of both would hold") for pane_set in plan.sets)
    assert [panes_per_window(plan, name) for name in ("q1", "q2", "q3")] == [3, 4, 8]


def test_panes_that_would_not_reduce_the_data_are_not_stored() -> None:
    plan = build_plan("traffic", PAPER, Statistics(1000.0, {("`area_id`",): 100_000}, measured=True))
    assert [pane_set.stored for pane_set in plan.sets] == [False, False]
    assert plan.sets[0].why.startswith("bypassed: a pane row would hold 1 tuples")


def test_undividable_queries_fall_into_the_two_groups_of_the_example() -> None:
    """gcds 1000, 500, 310, 155: 8.45 panes a thousand tuples in two groups, 8.39 in one that is read twice as often."""
    windows = [WindowSpec.over_rows(size, size) for size in (1000, 500, 310, 155)]
    groups = split(windows)
    assert [{window.slide for window in group} for group in groups] == [{310, 155}, {1000, 500}]
    stored = sum(1000 * float(cutting(tuple(group)).cuts.density) for group in groups)
    read = sum(1000 * float(cutting(tuple(group)).cuts.density) * len(group) for group in groups)
    assert (round(stored, 2), round(read, 1)) == (8.45, 16.9)
    one = 1000 * float(cutting(tuple(windows)).cuts.density)
    assert (round(one, 2), round(4 * one, 1)) == (8.39, 33.5)


def test_groups_with_the_smallest_panes_come_first() -> None:
    plan = build_plan("traffic", [row(f"q{size}", size, size) for size in (1000, 500, 310, 155)])
    assert names(plan) == [{"q310", "q155"}, {"q1000", "q500"}]
    assert [pane_set.role for pane_set in plan.sets] == ["sub", "main"]


def test_queries_with_other_keys_have_panes_of_their_own() -> None:
    plan = build_plan("traffic", [timed("a", 60, 60), timed("b", 60, 60, keys=()), timed("c", 30, 30)])
    assert sorted(map(sorted, names(plan))) == [["a", "c"], ["b"]]


def test_keys_in_another_order_share_panes() -> None:
    plan = build_plan("traffic", [timed("a", 60, 60, keys=("x", "y")), timed("b", 60, 60, keys=("y", "x"))])
    assert names(plan) == [{"a", "b"}]


def test_offsets_move_the_cuts() -> None:
    (only,) = build_plan("traffic", [timed("a", 60, 60, offset=20), timed("b", 60, 60)]).sets
    assert only.time == Cuts.of([Grid(20 * SECOND, 0)]) or only.time == Cuts.of(
        [Grid(60 * SECOND, 0), Grid(60 * SECOND, 20 * SECOND)]
    )
    assert float(only.time.density) == 2 / (60 * SECOND)


def test_a_set_is_named_by_its_keys_and_cuts_alone() -> None:
    first = build_plan("traffic", [timed("a", 180, 60)]).sets[0]
    more = build_plan("traffic", [timed("a", 180, 60), timed("b", 120, 60)]).sets[0]
    finer = build_plan("traffic", [timed("a", 180, 60), timed("b", 90, 30)]).sets[0]
    assert first.name == more.name != finer.name


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_every_split_is_tried_once(size: int) -> None:
    windows = [WindowSpec.over_rows(size, size) for size in range(1, size + 1)]
    found = list(splits(windows))
    assert len(found) == len(set(found)) == [1, 1, 2, 5, 15][size]


windows = st.builds(
    Window, st.sampled_from(["ROW", "TS"]), st.integers(1, 5000), st.integers(1, 900), offset=st.just(0)
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    drawn=st.lists(st.tuples(windows, st.sampled_from([(), ("a",), ("a", "b")])), min_size=1, max_size=12),
    groups=st.sampled_from([1, 6, 1000]),
)
def test_each_query_reads_one_set_whose_panes_make_up_its_windows(
    drawn: list[tuple[Window, tuple[str, ...]]], groups: int
) -> None:
    queries = [query(f"q{at}", window, keys) for at, (window, keys) in enumerate(drawn)]
    keys = {tuple(f"`{key}`" for key in names): groups for names in ((), ("a",), ("a", "b"))}
    plan = build_plan("traffic", queries, Statistics(100.0, keys, measured=True))
    assert sorted(member.name for made in plan.sets for member in made.queries) == sorted(q.name for q in queries)
    for made in plan.sets:
        for member in made.queries:
            spec, cuts = window_spec(member.window), made.cuts_for(member)
            assert all(cuts.is_cut(bound(k)) for bound in (spec.start, spec.end) for k in range(-20, 20))


def test_long_panes_of_sums_are_cut_into_rows_and_others_are_not() -> None:
    fast = Statistics(10_000.0, {("`area_id`",): 4}, measured=True)
    summed = dataclasses.replace(timed("a", 60, 60), calls=(AggregateCall("sum", "`speed`"),))
    assert build_plan("traffic", [summed], fast).sets[0].run == 4 * 8_192
    assert build_plan("traffic", [timed("a", 60, 60)], fast).sets[0].run == 0
    assert build_plan("traffic", [summed], Statistics(100.0, {("`area_id`",): 4})).sets[0].run == 0
