"""A family of windows on a grid: window k is [k·slide + shift - range, k·slide + shift), start included, end not.

Positions are whole numbers: microseconds since the epoch, or sequence numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

Numbers = range


@dataclass(frozen=True)
class WindowSpec:
    """Overlapping (range > slide), tumbling (range = slide) or gapped (range < slide) windows."""

    range: int
    slide: int
    shift: int = 0

    def __post_init__(self) -> None:
        if self.range <= 0 or self.slide <= 0:
            raise ValueError(f"a window's range and slide must be positive; got range {self.range}, slide {self.slide}")

    @classmethod
    def over_rows(cls, range: int, slide: int) -> WindowSpec:  # noqa: A002 - the language's own word
        """Windows [i·slide, i·slide + range), numbered by their start."""
        return cls(range, slide, shift=range)

    def start(self, k: int) -> int:
        return self.end(k) - self.range

    def end(self, k: int) -> int:
        return k * self.slide + self.shift

    def ending_in(self, after: int, until: int) -> Numbers:
        """Every k whose window ends in (after, until]: those that become due in a slice [after, until)."""
        return Numbers(self.first_with(after), self.first_with(until))

    def holding(self, position: int) -> Numbers:
        """Every k whose window holds the position; empty where it lies in a gap."""
        return Numbers(self.first_with(position), self.first_with(position + self.range))

    def first_with(self, position: int) -> int:
        """The least k whose window ends after the position."""
        return (position - self.shift) // self.slide + 1
