"""Which queries share panes: a split into groups whose panes cost least to lift, store and read.

With minimal cuts one group stores least, since a union of cuts is at most their sum, but every query reads all of its
group's panes. Few distinct windows are split best of all splits; many by merging, step by step, what saves most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from panelake.kernels.window_spec import WindowSpec
from panelake.planning.cost import group_cost

_MOST_TRIED = 7  # 877 splits
Group = frozenset[WindowSpec]
Split = frozenset[Group]


def split(windows: Sequence[WindowSpec]) -> list[Group]:
    """The groups of the distinct windows, those with the most panes first: they are executed, and freed, first."""
    counts = Counter(windows)
    if not counts:
        return []
    found = _best_of_all(counts) if len(counts) <= _MOST_TRIED else _merged(counts)
    return sorted(found, key=lambda group: (-_cost(group, counts), sorted(map(_order, group))))


def _order(window: WindowSpec) -> tuple[int, int, int]:
    return window.range, window.slide, window.shift


def _cost(group: Group, counts: Counter[WindowSpec]) -> float:
    return group_cost(sorted(group, key=_order), sum(counts[window] for window in group))


def _total(groups: Split, counts: Counter[WindowSpec]) -> tuple[float, int]:
    return round(sum(_cost(group, counts) for group in groups), 12), len(groups)


def _best_of_all(counts: Counter[WindowSpec]) -> Split:
    return min(splits(sorted(counts, key=_order)), key=lambda groups: _total(groups, counts))


def splits(windows: Sequence[WindowSpec]) -> Iterator[Split]:
    """Every split of the windows into groups, each once."""
    if not windows:
        yield frozenset()
        return
    first = frozenset(windows[:1])
    for rest in splits(windows[1:]):
        yield rest | {first}
        for group in rest:
            yield (rest - {group}) | {group | first}


def _merged(counts: Counter[WindowSpec]) -> Split:
    """Merge while a merge saves; all in one group is taken where that is cheaper still."""
    groups: Split = frozenset(frozenset([window]) for window in counts)
    while len(groups) > 1:
        best = min(_merges(groups), key=lambda merged: _total(merged, counts))
        if _total(best, counts) >= _total(groups, counts):
            break
        groups = best
    whole: Split = frozenset([frozenset(counts)])
    return min(groups, whole, key=lambda found: _total(found, counts))


def _merges(groups: Split) -> Iterator[Split]:
    ordered = sorted(groups, key=lambda group: sorted(map(_order, group)))
    for index, one in enumerate(ordered):
        for other in ordered[index + 1 :]:
            yield (groups - {one, other}) | {one | other}
