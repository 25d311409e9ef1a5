"""The policies by name, each behind the interface of `batch.Policy`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from panelake.baselines.a_greedy import AGreedy
from panelake.baselines.eddy import Eddy
from panelake.baselines.random_swap import RandomSwap
from panelake.baselines.static import Static
from panelake.kernels.filter_order.adjacent_swaps import AdjacentSwaps
from panelake.kernels.filter_order.batch import Policy
from panelake.kernels.filter_order.rank import Rank

DEFAULT = "wt_rank"

_SEEDED: Mapping[str, Callable[[int], Policy[Any]]] = {
    "wt": lambda seed: AdjacentSwaps(seed=seed),
    "wt_reach": lambda seed: AdjacentSwaps(by_reach=True, seed=seed),
    "wt_rank": lambda seed: Rank(seed=seed),
    "a_greedy": lambda seed: AGreedy(seed=seed),
    "random_swap": lambda seed: RandomSwap(seed=seed),
    "eddy": lambda seed: Eddy(seed=seed),
}
NAMES = ("static", *_SEEDED)


def policy_named(name: str, seed: int = 0) -> Policy[Any]:
    """The policy of that name; its random choices are functions of the seed and of each tuple's position."""
    if name == "static":
        return Static()
    if name not in _SEEDED:
        raise ValueError(f"unknown filter policy {name!r}; expected one of {', '.join(NAMES)}")
    return _SEEDED[name](seed)
