"""Two-stacks counted: how many combines a window costs, and that compiled kernels outlive the process."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from panelake.kernels import two_stacks
from panelake.kernels.intervals import find_intervals, widest
from panelake.kernels.two_stacks import Largest
from panelake.kernels.window_spec import WindowSpec


@pytest.fixture
def combines(monkeypatch):
    """Folds in plain Python and says how many combines that took, after checking the answers."""
    calls = []

    def counted(left, right):
        calls.append(None)
        return Largest(max(left.value, right.value))

    monkeypatch.setattr(two_stacks, "combine", counted)
    monkeypatch.setattr(two_stacks, "_stack_front", two_stacks._stack_front.py_func)

    def count(values, intervals):
        front, result = Largest(np.empty(widest(intervals), int)), Largest(np.empty(len(intervals.k), int))
        two_stacks.fold_intervals.py_func(Largest(values), intervals.first, intervals.last, front, result)
        truth = [values[i:j].max() for i, j in zip(intervals.first, intervals.last, strict=True)]
        assert result.value.tolist() == truth
        return len(calls)

    return count


@pytest.mark.parametrize("panes_per_window", [1, 2, 10, 1_000, 10_000])
def test_a_window_costs_three_combines_whatever_its_range(combines, panes_per_window):
    rows = np.arange(15_000)
    intervals = find_intervals(rows * 0, rows, WindowSpec(panes_per_window, 1), range(20_000))
    values = np.random.default_rng(2).integers(0, 1_000_000, len(rows))
    assert combines(values, intervals) <= 3 * len(intervals.k)


@pytest.mark.parametrize(("extent", "slide"), [(7, 3), (30, 7), (50, 50), (5, 20), (400, 1)])
def test_rows_cost_two_combines_and_windows_one(combines, extent, slide):
    random = np.random.default_rng(3)
    group = np.sort(random.integers(0, 5, 2_000))
    position = random.integers(-3_000, 3_000, 2_000)
    position = position[np.lexsort((position, group))]
    intervals = find_intervals(group, position, WindowSpec(extent, slide, shift=2), range(-9_999, 9_999))
    assert combines(random.integers(0, 99, 2_000), intervals) <= 2 * 2_000 + len(intervals.k)


def test_tumbling_windows_cost_less_than_one_combine_a_row(combines):
    rows = np.arange(1_000)
    intervals = find_intervals(rows * 0, rows, WindowSpec(10, 10), range(1_000))
    assert combines(rows, intervals) == 900


COUNT_HITS = """
import numpy as np
from panelake.kernels.two_stacks import Largest, fold_intervals
one = np.ones(1, dtype=np.int64)
fold_intervals(Largest(one), one * 0, one, Largest(one), Largest(one))
print(sum(fold_intervals.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_once_for_all_processes(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    hits = [
        subprocess.run([sys.executable, "-c", COUNT_HITS], env=environment, check=True, capture_output=True).stdout
        for _ in range(2)
    ]
    assert [int(count) for count in hits] == [0, 1]
