from __future__ import annotations

import numpy as np
import pytest

from panelake.kernels.filter_order.best_order import best_order, cost_of, every_order


@pytest.mark.parametrize("seed", range(20))
def test_searching_sets_finds_what_trying_all_orders_finds(seed):
    random = np.random.default_rng(seed)
    filters = 1 + seed % 6
    common = random.random(200)
    passes = np.stack([np.where(random.random(200) < 0.6, common, random.random(200)) < 0.5 for _ in range(filters)], 1)
    costs = random.integers(1, 9, filters).astype(float)
    found, truth = best_order(passes, costs), every_order(passes, costs)
    assert found.cost == pytest.approx(truth.cost)
    assert cost_of(found.order, passes, costs) == pytest.approx(found.cost)


def test_a_tuple_pays_up_to_the_filter_that_drops_it():
    """Filter:  A  B     as B A: B three times, A once for the one tuple that B passes.

    tuple 0   no no
    tuple 1  yes no
    tuple 2  yes yes
    """
    passes = np.array([[False, False], [True, False], [True, True]])
    costs = np.array([10.0, 1.0])
    assert cost_of(np.array([0, 1]), passes, costs) == 3 * 10 + 2 * 1
    assert cost_of(np.array([1, 0]), passes, costs) == 3 * 1 + 1 * 10
    assert best_order(passes, costs).order.tolist() == [1, 0]


def test_no_tuples_cost_nothing():
    assert best_order(np.empty((0, 3), dtype=bool), np.ones(3)).cost == 0


def test_too_many_filters_to_search_are_refused():
    with pytest.raises(ValueError, match="at most 16 filters can be searched; got 17"):
        best_order(np.ones((1, 17), dtype=bool), np.ones(17))
