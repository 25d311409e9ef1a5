"""The rules by which a set of windows is cut into panes: the paper's, residues, and minimal cuts.

Source: the shared-pane paper (SPQP). Two slips of it are kept as tests: it prints g_r − P_o for the second
size of an indivisible (ID) query, where its own example uses g_s − P_o; and its ID rule, taken for several queries at
once, puts windows' bounds inside panes, so that it may be used for a single query alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from panelake.kernels.window_spec import WindowSpec
from panelake.planning.cuts import Cuts, Grid

Kind = Literal["AD", "ID", "UD"]
Rule = Literal["paper", "residues", "minimal"]
RULES: tuple[Rule, ...] = ("paper", "residues", "minimal")
_MOST_GRIDS = 12  # each is one more term in every tuple's pane, and meetings of grids double with each


def start_residue(window: WindowSpec) -> int:
    """Where its windows start, on the grid of its slide."""
    return (window.shift - window.range) % window.slide


def end_residue(window: WindowSpec) -> int:
    """Where its windows end, on the grid of its slide."""
    return window.shift % window.slide


def classify(windows: Sequence[WindowSpec]) -> Kind:
    """AD: one number above 1 divides every range and slide; ID: in each query range and slide share none; else UD."""
    if math.gcd(*(length for window in windows for length in (window.range, window.slide))) > 1:
        return "AD"
    if all(math.gcd(window.range, window.slide) == 1 for window in windows):
        return "ID"
    return "UD"


def gcd_cuts(windows: Sequence[WindowSpec]) -> Cuts:
    """One size that divides every range, every slide and every distance between grids: the paper's rule for AD."""
    first = start_residue(windows[0])
    distances = [start_residue(window) - first for window in windows]
    size = math.gcd(*(length for window in windows for length in (window.range, window.slide)), *distances)
    return Cuts.of([Grid(size, first)])


def paper_id_cuts(windows: Sequence[WindowSpec]) -> Cuts:
    """Two alternating sizes, P_o = g_r mod g_s and g_s − P_o: the paper's rule for ID, right for one query alone."""
    ranges, slides = (math.gcd(*lengths) for lengths in zip(*((w.range, w.slide) for w in windows), strict=True))
    first = start_residue(windows[0])
    return Cuts.of([Grid(slides, first), Grid(slides, first + ranges % slides)])


def paper_cuts(windows: Sequence[WindowSpec]) -> Cuts:
    """The paper's rule as it is right: alternating sizes for one ID query, else the greatest common divisor."""
    alone = len({(window.range, window.slide, start_residue(window)) for window in windows}) == 1
    return paper_id_cuts(windows) if alone and classify(windows) == "ID" else gcd_cuts(windows)


def residue_cuts(windows: Sequence[WindowSpec]) -> Cuts:
    """Period g_s, the gcd of the slides, cut at the residues of every start and end."""
    period = math.gcd(*(window.slide for window in windows))
    return Cuts.of(Grid(period, bound) for window in windows for bound in (start_residue(window), end_residue(window)))


def minimal_cuts(windows: Sequence[WindowSpec]) -> Cuts:
    """Cut exactly where some window starts or ends."""
    return Cuts.of(
        Grid(window.slide, bound) for window in windows for bound in (start_residue(window), end_residue(window))
    )


_CUTS: dict[Rule, Callable[[Sequence[WindowSpec]], Cuts]] = {
    "paper": paper_cuts,
    "residues": residue_cuts,
    "minimal": minimal_cuts,
}


def cuts_by(rule: Rule, windows: Sequence[WindowSpec]) -> Cuts:
    """The cuts a rule makes."""
    return _CUTS[rule](windows)


def best_rule(windows: Sequence[WindowSpec]) -> Rule:
    """The rule with the fewest panes; of equals the one with the fewest grids, then the simplest."""
    made = {rule: cuts_by(rule, windows) for rule in RULES}
    short = [rule for rule in RULES if rule == "paper" or len(made[rule].grids) <= _MOST_GRIDS]
    return min(short, key=lambda rule: _weight(made[rule], rule))


def _weight(cuts: Cuts, rule: Rule) -> tuple[float, int, int]:
    return float(cuts.density), len(cuts.grids), RULES.index(rule)
