"""The benchmark's own arithmetic, and that its filters are what it says: all free to move, worst first."""

from __future__ import annotations

from itertools import pairwise

from panelake.benchmarks import real_filters
from panelake.benchmarks.timing import Spent
from panelake.filters.chain import can_move
from panelake.stages.filtering import as_written


def test_all_six_filters_may_change_places():
    way = as_written(real_filters.filters(), real_filters.TYPES, "ts", real_filters.SOURCE)
    assert len(way.chain) == 6
    assert can_move(way.chain)
    assert {known.segment for known in way.chain} == {0}
    assert sorted(real_filters.BEST) == list(way.used)


def test_each_way_comes_after_each_other_one():
    names = ["a", "b", "c", "d"]
    turns = [real_filters.in_turn(names, by) for by in range(4)]
    assert all(sorted(turn) == names for turn in turns)
    assert len({pair for turn in turns for pair in pairwise(turn)}) == 12


def test_targets_are_told_from_the_seconds():
    seconds = {"written": [10.0] * 10, "best": [2.0] * 10, "cold": [6.0, *[2.2] * 9], "remembered": [2.1] * 10}
    took = {name: [Spent(one, 2 * one) for one in parts] for name, parts in seconds.items()}
    found = real_filters.results(took, [[0]], {"written": 3.0, "best": 1.0}, 100)
    assert found["ratios"]["gap closed after the first tenth"] == 0.975
    assert found["ratios"]["gap closed in the first tenth, learning included"] == 0.5
    assert found["ratios"]["remembered, above best"] == 0.05
    assert found["ratios"]["cold, above best"] == 0.29
    assert [one["reached"] for one in found["targets"]] == [True, False, False]
    assert found["ratios by processor time"] == found["ratios"]
