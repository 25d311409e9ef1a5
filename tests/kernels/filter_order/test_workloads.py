from __future__ import annotations

import numpy as np
import pytest

from panelake.kernels.filter_order.best_order import best_order
from panelake.kernels.filter_order.workloads import FIGURE_4, REVERSAL, figure_5, figure_6


def agreement(passes, one, other):
    return np.mean(passes[:, one] == passes[:, other])


def test_filters_of_one_group_agree_on_four_tuples_of_five_and_others_on_half():
    passes = FIGURE_4.batch(seed=3).passes
    assert passes.mean(axis=0) == pytest.approx(0.5, abs=0.01)
    for one in range(6):
        for other in range(one):
            expected = 0.8 if one // 2 == other // 2 else 0.5
            assert agreement(passes, one, other) == pytest.approx(expected, abs=0.01)


def test_a_group_may_be_cut_short():
    batch = figure_5(5).batch(seed=0)
    assert batch.passes.shape == (100_000, 5)
    assert agreement(batch.passes, 3, 4) == pytest.approx(0.5, abs=0.01)


def test_selectivities_are_reversed_halfway():
    passes, half = REVERSAL.batch(seed=0).passes, REVERSAL.tuples // 2
    assert passes[:half].mean(axis=0) == pytest.approx(np.array(REVERSAL.selectivities), abs=0.01)
    assert passes[half:].mean(axis=0) == pytest.approx(np.array(REVERSAL.selectivities[::-1]), abs=0.01)


def test_a_seed_gives_one_stream_and_a_length_its_tuples():
    assert np.array_equal(FIGURE_4.batch(5).passes, FIGURE_4.batch(5).passes)
    assert len(figure_6(50_000).batch(5).passes) == 50_000


def test_the_best_order_of_the_papers_data_takes_one_filter_of_each_group_first():
    batch = FIGURE_4.batch(seed=2)
    assert sorted(number // 2 for number in best_order(batch.passes, batch.costs).order[:3]) == [0, 1, 2]
