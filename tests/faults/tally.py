"""What the suite did: trials, faults that hit, losses, counted as they happen; and how it draws its moments.

A trial whose fault came too late, after the work was done, is a trial and no fault. A loss is a trial after which the
tables were not those of an undisturbed run.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SEED_VARIABLE, TRIALS_VARIABLE, MINUTES_VARIABLE = (
    "PANELAKE_FAULT_SEED",
    "PANELAKE_FAULT_TRIALS",
    "PANELAKE_FAULT_MINUTES",
)
CLIENT_KILLS = 6


@dataclass
class Trial:
    """One attempt to break something; whoever breaks it says whether it was hit, and what was lost."""

    kind: str
    number: int
    chance: random.Random
    hit: bool = False
    loss: str = ""


@dataclass
class Tally:
    """All trials of this run, in order."""

    seed: int = field(default_factory=lambda: int(os.environ.get(SEED_VARIABLE) or time.time_ns() % 1_000_000))
    minutes: float = float(os.environ.get(MINUTES_VARIABLE, "12"))
    began: float = field(default_factory=time.monotonic)
    trials: list[Trial] = field(default_factory=list)

    @contextmanager
    def trial(self, kind: str) -> Iterator[Trial]:
        """A trial with chances of its own: which they are depends on the seed, its kind and how many came before it."""
        number = sum(one.kind == kind for one in self.trials)
        one = Trial(kind, number, random.Random(f"{self.seed} {kind} {number}"))  # noqa: S311 - a seed, not a secret
        self.trials.append(one)
        try:
            yield one
        except BaseException:
            one.loss = one.loss or "the trial broke off"
            raise

    @property
    def is_over(self) -> bool:
        """Whether the time for starting trials is used up."""
        return time.monotonic() - self.began > 60 * self.minutes

    @property
    def faults(self) -> int:
        return sum(one.hit for one in self.trials)

    @property
    def losses(self) -> int:
        return sum(bool(one.loss) for one in self.trials)

    def told(self) -> list[str]:
        """The last lines of the run: kinds, then the sum."""
        trials, hits = Counter(one.kind for one in self.trials), Counter(one.kind for one in self.trials if one.hit)
        kinds = [f"  {kind}: {trials[kind]} trials, {hits[kind]} hit" for kind in trials]
        lost = [f"  LOSS in {one.kind} {one.number}: {one.loss}" for one in self.trials if one.loss]
        sums = f"faults: {len(self.trials)} trials, {self.faults} faults hit, {self.losses} losses"
        return [*kinds, *lost, f"{SEED_VARIABLE}={self.seed} ({time.monotonic() - self.began:.0f} s)", sums]


def trials(usual: int) -> int:
    """How many trials of a kind: of six kills of a client as many as are asked for, of others in proportion."""
    asked = int(os.environ.get(TRIALS_VARIABLE) or CLIENT_KILLS)
    return max(1, round(usual * asked / CLIENT_KILLS))
