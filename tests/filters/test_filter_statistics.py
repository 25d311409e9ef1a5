"""Statistics as a value: what is stored, resumed and blended; no Spark session needed."""

from __future__ import annotations

import numpy as np
import pytest

from panelake.filters import statistics as filter_statistics
from panelake.language.raising import placed
from panelake.spark import filter_chain

TYPES = {"a": "int", "b": "int", "x": "double"}
CHAIN = placed(["`a` > 1", "`x` > 2.0", "`b` = 3"], TYPES)
NOTHING = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def learned(chain, outcomes, counts, costs=None):
    return filter_statistics.learn(filter_statistics.start(chain), chain, (np.array(outcomes), np.array(counts)), costs)


def test_nothing_is_known_at_first():
    statistics = filter_statistics.start(CHAIN)
    assert statistics.order == (0, 1, 2)
    assert np.isnan(statistics.costs).all()
    assert np.isnan(statistics.saved())


def test_stored_statistics_are_resumed_as_they_were():
    statistics = learned(CHAIN, [0b001, 0b011, 0b111], [50, 30, 20], np.array([2e-6, 1e-6, 1e-8]))
    assert statistics.order == (2, 0, 1)
    assert filter_statistics.resume(statistics.to_row(), CHAIN).to_row() == statistics.to_row()


@pytest.mark.parametrize("conditions", [["`a` > 1", "`x` > 2.0"], ["`x` > 2.0", "`a` > 1", "`b` = 3"]])
def test_other_conditions_start_anew(conditions):
    row = learned(CHAIN, [0b001], [100]).to_row()
    resumed = filter_statistics.resume(row, placed(conditions, TYPES))
    assert resumed.order == tuple(range(len(conditions)))
    assert resumed.profile.weight == 0


def test_an_order_that_crosses_a_border_is_not_resumed():
    free = placed(["`b` <> 0", "`a` / `b` > 1"], TYPES, commutative=True)
    moved = learned(free, [0b01], [100])
    assert moved.order == (1, 0)
    assert filter_statistics.resume(moved.to_row(), free).order == (1, 0)
    assert filter_statistics.resume(moved.to_row(), placed(moved.conditions, TYPES)).order == (0, 1)


def test_a_where_without_conditions_keeps_every_tuple():
    nothing = filter_statistics.start(())
    assert nothing.order == ()
    assert filter_chain.filtered("any frame", nothing) == "any frame"
    assert filter_statistics.resume(nothing.to_row(), ()).to_row() == nothing.to_row()


def test_no_row_is_a_start():
    assert filter_statistics.resume(None, CHAIN).order == (0, 1, 2)


def test_costs_measured_again_are_blended_and_those_missed_stay():
    first = filter_statistics.learn(filter_statistics.start(CHAIN), CHAIN, NOTHING, np.array([4.0, np.nan, 2.0]))
    assert first.assumed_costs.tolist() == [4, 3, 2]
    second = filter_statistics.learn(first, CHAIN, NOTHING, np.array([2.0, 6.0, np.nan]))
    assert second.costs.tolist() == [3, 6, 2]


def test_costs_decide_among_conditions_that_drop_alike():
    alike = [0b000, 0b111], [50, 50]
    assert learned(CHAIN, *alike, np.array([3.0, 2.0, 1.0])).order == (2, 0, 1)
    assert learned(CHAIN, *alike).order == (0, 1, 2)


@pytest.mark.parametrize(("tuples", "every"), [(0, 100), (400_000, 100), (10_000_000, 2_000)])
def test_a_sample_is_no_larger_than_what_a_profile_remembers(tuples, every):
    assert filter_chain.sampling(tuples) == every


def test_where_much_is_known_fewer_tuples_are_sampled():
    assert filter_chain.sampling(10_000_000, 5_000) == 10_000
    assert filter_chain.sampling(50_000, 5_000) == 100
    assert filter_chain.sampling(10_000_000, 100) == 2_000


def test_one_tuple_in_none_cannot_be_sampled():
    with pytest.raises(ValueError, match="one tuple in 0 cannot be sampled"):
        filter_chain.sampled(None, ["id"], every=0)
