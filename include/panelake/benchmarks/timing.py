"""Wall-clock seconds of ways to do the same, side by side in one run."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least of some runs, after one to warm up where it is repeated at all."""
    if repeats > 1:
        work()
    return min(_once(work) for _ in range(repeats))


def _once(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rounded(values: dict[str, float]) -> dict[str, float]:
    """Figures as a table shows them: four digits."""
    return {name: float(f"{value:.4g}") for name, value in values.items()}
