"""wt_rank decided once a batch, from a sample on which all filters ran: for engines that fix a batch's order.

Source: the rule of rank.py; the sample is A-Greedy's profile (a_greedy.py), taken of all tuples instead of dropped
ones, and kept as a histogram of outcomes instead of rows, so that nothing of it is lost when the order changes.
Unlike the policies that decide tuple by tuple, the order in force depends on where batches are cut; rows kept do not.

Forgetting: what is known is halved until it weighs at most `limit` tuples, then the new sample is added: a large sample
replaces it, a small one refines it. If any filter's selectivity in the sample differs from the one known by `surprise`
standard deviations, only the sample counts.
Filters are in segments, given by whoever knows what they guard: none leaves its own, and only tuples that pass all
earlier segments say anything about a later one.

Time: O(outcomes·n²) a batch. Space: one integer and one weight per distinct outcome, at most 2^n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from panelake.kernels.filter_order.batch import Doubles, Integers, Mask, written_order

ALPHA = 0.9
LIMIT = 5_000
OBSERVATIONS = 20
SURPRISE = 4.0
_ROUNDING = 1e-12


class Profile(NamedTuple):
    """The order in force, and distinct outcomes with their weights: bit f of an outcome says that filter f is TRUE."""

    order: Integers
    outcomes: Integers
    weights: Doubles

    @property
    def weight(self) -> float:
        """Tuples it stands for."""
        return float(self.weights.sum())


def start(filters: int) -> Profile:
    """Nothing known, filters in the order written; none at all is a profile too."""
    order = written_order(filters) if filters else np.empty(0, dtype=np.int64)
    return Profile(order, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64))


def absorb(
    profile: Profile, outcomes: Integers, counts: Integers, limit: int = LIMIT, surprise: float = SURPRISE
) -> Profile:
    """The profile with a batch's sample, given as outcomes and how many tuples had each; the order stays."""
    _require_outcomes(outcomes, counts, len(profile.order))
    sample = Profile(profile.order, outcomes, counts.astype(np.float64))
    if _surprises(profile, sample, surprise):
        return sample
    known = profile.weights * _fading(profile.weight, limit)
    merged, place = np.unique(np.concatenate([profile.outcomes, outcomes]), return_inverse=True)
    weights: Doubles = np.bincount(place, np.concatenate([known, sample.weights]), len(merged)).astype(np.float64)
    return Profile(profile.order, merged, weights)


def reorder(profile: Profile, costs: Doubles, segments: Integers | None = None, alpha: float = ALPHA) -> Profile:
    """The profile with the order for the next batch; positions that too few sampled tuples reach stay as they are."""
    order = profile.order.tolist()
    segments = np.zeros(len(order), dtype=np.int64) if segments is None else segments
    _require_segments(profile.order, segments, costs)
    passes = _passes(profile)
    reaching = profile.weights.copy()
    for position in range(len(order)):
        if reaching.sum() < OBSERVATIONS:
            break
        ranks = reaching @ ~passes / costs
        candidates = [number for number in order[position:] if segments[number] == segments[order[position]]]
        best = max(candidates, key=lambda number: ranks[number])
        if ranks[order[position]] < alpha * ranks[best]:
            order.remove(best)
            order.insert(position, best)
        reaching = reaching * passes[:, order[position]]
    return profile._replace(order=np.array(order, dtype=np.int64))


def selectivities(profile: Profile) -> Doubles:
    """Each filter's share of TRUE among all tuples; NaN while nothing is known."""
    return np.diag(pairwise(profile)).copy()


def pairwise(profile: Profile) -> Doubles:
    """For each two filters the share of tuples for which both are TRUE: the reach of a third behind them."""
    passes = _passes(profile).astype(np.float64)
    together: Doubles = passes.T @ (passes * profile.weights[:, None])
    return together / profile.weight if len(profile.weights) else np.full(together.shape, np.nan)


def expected_cost(profile: Profile, order: Integers, costs: Doubles) -> float:
    """What a tuple pays in this order, on average over the profile; NaN while nothing is known."""
    passes, reaching, total = _passes(profile), profile.weights.copy(), 0.0
    for number in order:
        total += float(costs[number] * reaching.sum())
        reaching = reaching * passes[:, number]
    return total / profile.weight if len(profile.weights) else float("nan")


def dropped(profile: Profile, order: Integers) -> Doubles:
    """The share of all tuples that each filter drops in this order, by filter; NaN while nothing is known."""
    passes, reaching = _passes(profile), profile.weights.copy()
    found = np.full(len(order), np.nan)
    for number in order:
        passing = reaching * passes[:, number]
        found[number] = (reaching.sum() - passing.sum()) / profile.weight if len(profile.weights) else np.nan
        reaching = passing
    return found


def differ(share: float, weight: float, other: float, tuples: float, surprise: float = SURPRISE) -> bool:
    """Whether two shares of so many tuples differ by more than chance would make them."""
    pooled = (share * weight + other * tuples) / (weight + tuples)
    variance = pooled * (1 - pooled) * (1 / weight + 1 / tuples)
    return (share - other) ** 2 > surprise**2 * variance + _ROUNDING


def _surprises(known: Profile, sample: Profile, surprise: float) -> bool:
    """Whether any selectivity of the sample and the one known differ by more than chance would make them."""
    before, now = known.weight, sample.weight
    if min(before, now) < OBSERVATIONS:
        return False
    shares = zip(selectivities(known), selectivities(sample), strict=True)
    return any(differ(float(share), before, float(share_now), now, surprise) for share, share_now in shares)


def _fading(weight: float, limit: int) -> float:
    """The power of ½ that brings the weight to at most the limit."""
    share = 1.0
    while weight * share > limit:
        share /= 2
    return share


def _passes(profile: Profile) -> Mask:
    bits: Mask = (profile.outcomes[:, None] >> np.arange(len(profile.order)) & 1).astype(np.bool_)
    return bits


def _require_outcomes(outcomes: Integers, counts: Integers, filters: int) -> None:
    if outcomes.shape != counts.shape or outcomes.ndim != 1:
        raise ValueError(f"each outcome needs its count; got shapes {outcomes.shape} and {counts.shape}")
    if len(outcomes) and (outcomes.min() < 0 or outcomes.max() >= 1 << filters or counts.min() < 0):
        raise ValueError(f"outcomes of {filters} filters lie in 0 … {(1 << filters) - 1}, counts from 0")


def _require_segments(order: Integers, segments: Integers, costs: Doubles) -> None:
    if segments.shape != order.shape or costs.shape != order.shape or not np.all(costs > 0):
        raise ValueError(f"{len(order)} filters need as many segments and costs above zero; got {segments}, {costs}")
    if np.any(np.diff(segments[order]) < 0):
        raise ValueError(f"the order {order.tolist()} does not keep the segments {segments.tolist()} one after another")
