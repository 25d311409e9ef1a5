"""Chunks of the axis on which windows slide, so that few groups still use every core.

Chunk c owns the windows that end in (low + c·length, low + (c + 1)·length]; a pane goes to every chunk that owns a
window which may hold it. A chunk is never shorter than the longest range, so a pane goes to two chunks at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from panelake.kernels.window_spec import WindowSpec

CHUNK = "_chunk"


@dataclass(frozen=True)
class Chunks:
    """`count` chunks from `low` on, numbered from `first` on, for windows no longer than `reach`."""

    low: int
    length: int
    count: int
    reach: int
    first: int = 0

    def windows(self, chunk: int, window: WindowSpec, due: range) -> range:
        """The due windows that a chunk owns; none where it is no chunk of these."""
        chunk -= self.first
        if not 0 <= chunk < self.count:
            return range(0)
        owned = window.ending_in(self.low + chunk * self.length, self.low + (chunk + 1) * self.length)
        first, stop = max(owned.start, due.start), min(owned.stop, due.stop)
        return range(first, max(first, stop))

    def sql(self, position: str) -> str:
        """Spark SQL for the chunks a pane at the position goes to, as an array; outside them the nearest."""
        first = f"({position} - {self.low}) DIV {self.length}"
        last = f"({position} - {self.low} + {self.reach - 1}) DIV {self.length}"
        low, high = (f"least(greatest({chunk}, 0), {self.count - 1})" for chunk in (first, last))
        return f"transform(sequence({low}, greatest({high}, {low})), c -> c + {self.first}L)"


def chunks_of(low: int, high: int, windows: Sequence[WindowSpec], wanted: int) -> Chunks:
    """At most so many chunks of [low, high), in which all the windows lie."""
    reach = max(window.range for window in windows)
    length = max(-(-(high - low) // max(1, wanted)), reach)
    return Chunks(low, length, max(1, -(-(high - low) // length)), reach)
