"""What panes cost, per tuple of the stream: the planner's one scale.

Unit: storing one pane, or one query reading it. Lifting a tuple into one more group of panes is taken as a hundredth
of that: Spark aggregates a tuple in 0.09 µs and makes a pane row in 0.6 µs (10 M tuples, 2 cores), and a pane has a
row for each of some ten groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from panelake.kernels.window_spec import WindowSpec
from panelake.planning.cuts import Cuts
from panelake.planning.rules import Rule, best_rule, cuts_by

LIFT = 0.01
# Below so many tuples a fragment, panes of time and of rows are cheaper apart than as fragments of both. Sharing saves
# a pass over the tuples and costs rows that every query reads, so its cost against panes apart is a + b / f for f
# tuples a fragment: 0.77 was measured at 700 and 1.75 at 8 (10 M tuples), which gives 0.76 + 7.9 / f, even at 33.
# `panelake bench sharing` measures it again.
SHARED_FROM = 40.0
# Below so many tuples a pane row, panes do not reduce the data: windows are answered from bronze.
STORED_FROM = 2.0
# Doubles that are summed with a rounding at every step: n of them err by at most n·2^-53·Σ|x|, below 1e-12·Σ|x|.
LONGEST_SUM = 8_192


@dataclass(frozen=True)
class Cutting:
    """The chosen rule for a set of windows and its cuts."""

    rule: Rule
    cuts: Cuts


@lru_cache(maxsize=65_536)
def cutting(windows: tuple[WindowSpec, ...]) -> Cutting:
    """The best rule for the windows by the number of panes."""
    rule = best_rule(windows)
    return Cutting(rule, cuts_by(rule, windows))


def group_cost(windows: Sequence[WindowSpec], queries: int) -> float:
    """Lifting, storing and reading one group's panes: the kernel passes over them once for each query."""
    return LIFT + float(cutting(tuple(windows)).cuts.density) * (1 + queries)


def group_rows(panes: float, groups: int) -> float:
    """Pane rows per tuple, for so many panes per tuple and so many equally frequent groups."""
    size = 1 / panes
    return panes * groups * float(1 - (1 - 1 / groups) ** size)
