"""Cuts: where panes begin, as a union of grids {k·slide + residue}, on the axis of time or of sequence numbers.

The pane of a position, the next cut and the number of cuts between two positions are arithmetic over the grids: no
table over the least common multiple of the slides is ever built.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

_NEGLIGIBLE = 10**13  # a common multiple beyond this adds less than one cut in a year of microseconds


@dataclass(frozen=True, order=True)
class Grid:
    """The positions k·slide + residue, for every whole k."""

    slide: int
    residue: int

    def __post_init__(self) -> None:
        if self.slide <= 0:
            raise ValueError(f"a grid's slide must be positive; got {self.slide}")
        object.__setattr__(self, "residue", self.residue % self.slide)

    def implies(self, other: Grid) -> bool:
        """Whether every position of the other grid is one of this grid's."""
        return other.slide % self.slide == 0 and (other.residue - self.residue) % self.slide == 0

    def start(self, position: int) -> int:
        """The greatest grid position that is not above the position."""
        return position - (position - self.residue) % self.slide

    def start_sql(self, position: str) -> str:
        """Spark SQL for `start`; every tuple is asked, so nothing is taken off where the residue is 0."""
        past = f"{position} - {self.residue}" if self.residue else position
        return f"{position} - pmod({past}, {self.slide})"

    def count(self, low: int, high: int) -> int:
        """Grid positions in [low, high)."""
        return (high - 1 - self.residue) // self.slide - (low - 1 - self.residue) // self.slide

    def common(self, other: Grid) -> Grid | None:
        """The positions of both grids, itself a grid; None where they never meet."""
        divisor = math.gcd(self.slide, other.slide)
        distance = other.residue - self.residue
        if distance % divisor:
            return None
        period = self.slide // divisor * other.slide
        steps = distance // divisor * pow(self.slide // divisor, -1, other.slide // divisor)
        return Grid(period, self.residue + self.slide * steps)


@dataclass(frozen=True)
class Cuts:
    """A union of grids without those that another implies, in ascending order: equal cuts compare equal."""

    grids: tuple[Grid, ...]

    @classmethod
    def of(cls, grids: Iterable[Grid]) -> Cuts:
        distinct = sorted(set(grids))
        kept = [grid for grid in distinct if not any(other != grid and other.implies(grid) for other in distinct)]
        return cls(tuple(kept))

    def start(self, position: int) -> int:
        """Where the pane that holds the position begins."""
        return max(grid.start(position) for grid in self.grids)

    def next_cut(self, position: int) -> int:
        """The first cut above the position: where its pane ends."""
        return min(grid.start(position) + grid.slide for grid in self.grids)

    def is_cut(self, position: int) -> bool:
        return any(grid.start(position) == position for grid in self.grids)

    def count(self, low: int, high: int) -> int:
        """Distinct cuts in [low, high)."""
        return sum(sign * grid.count(low, high) for sign, grid in self._terms())

    @property
    def density(self) -> Fraction:
        """Cuts per position, over all positions."""
        return sum((Fraction(sign, grid.slide) for sign, grid in self._terms()), Fraction(0))

    @property
    def mean_size(self) -> float:
        """Positions per pane."""
        return float(1 / self.density)

    def sizes(self, most: int = 16) -> tuple[int, ...]:
        """The sizes of the panes from the first cut at or after 0, over one period or the first few of it."""
        period = math.lcm(*(grid.slide for grid in self.grids))
        first = at = self.next_cut(-1)
        sizes: list[int] = []
        while at < first + period and len(sizes) < most:
            sizes.append(self.next_cut(at) - at)
            at += sizes[-1]
        return tuple(sizes)

    def starts_in(self, low: int, high: int) -> Iterator[int]:
        """The cuts in [low, high), ascending."""
        at = self.next_cut(low - 1)
        while at < high:
            yield at
            at = self.next_cut(at)

    def sql(self, position: str) -> str:
        """Spark SQL for `start` of a position given as Spark SQL."""
        starts = [grid.start_sql(position) for grid in self.grids]
        return starts[0] if len(starts) == 1 else f"greatest({', '.join(starts)})"

    def next_sql(self, position: str) -> str:
        """Spark SQL for `next_cut` of a position given as Spark SQL."""
        ends = [f"{grid.start_sql(position)} + {grid.slide}" for grid in self.grids]
        return ends[0] if len(ends) == 1 else f"least({', '.join(ends)})"

    def _terms(self) -> list[tuple[int, Grid]]:
        """Inclusion and exclusion: each meeting of grids with its sign; branches that never meet end at once."""
        terms: list[tuple[int, Grid]] = []
        for grid in self.grids:
            met = [(-sign, both) for sign, other in terms if (both := grid.common(other)) is not None]
            terms += [(1, grid), *((sign, both) for sign, both in met if both.slide <= _NEGLIGIBLE)]
        return terms
