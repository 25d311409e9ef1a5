"""Wall-clock seconds of ways to do the same, side by side in one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Work = Callable[[], object]


def side_by_side(works: Mapping[str, Work], rounds: int = 5) -> dict[str, float]:
    """The least seconds of each, after one run to warm up; they take turns, so that a busy machine hits all alike."""
    for work in works.values():
        work()
    turns = [{name: _once(work) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(turn[name] for turn in turns) for name in works}


def seconds(work: Work, repeats: int = 3) -> float:
    """The least of some runs, after one to warm up where it is repeated at all."""
    if repeats > 1:
        work()
    return min(_once(work) for _ in range(repeats))


def _once(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rounded(values: dict[str, float]) -> dict[str, float]:
    """Figures as a table shows them: four digits."""
    return {name: float(f"{value:.4g}") for name, value in values.items()}
