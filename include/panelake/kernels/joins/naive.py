"""The naive twin of the window join: every combination of tuples, held against the definition word for word.

Time O(product of the streams' lengths); the oracle of the tests and the rival of the measurements.
"""

from __future__ import annotations

from itertools import product

from panelake.kernels.joins.arrivals import Arrivals
from panelake.kernels.joins.join_spec import JoinSpec

Combination = tuple[int, ...]


def join_naively(spec: JoinSpec, batch: Arrivals) -> dict[Combination, int]:
    """Each combination of ids with the end kT of its window, memory unlimited."""
    rows = list(zip(*(column.tolist() for column in batch), strict=True))
    streams = [[row for row in rows if row[1] == stream] for stream in range(spec.streams)]
    found: dict[Combination, int] = {}
    for members in product(*streams):
        end = _window_end(spec, [ts for ts, _, _, _ in members])
        if len({key for _, _, key, _ in members}) == 1 and end is not None:
            found[tuple(number for _, _, _, number in members)] = end
    return found


def _window_end(spec: JoinSpec, times: list[int]) -> int | None:
    """The kT with every t_i in [kT - W_i, kT) and the newest in [kT - T, kT): the newest alone fixes k."""
    newest = max(times)
    end = ((newest - spec.shift) // spec.slide + 1) * spec.slide + spec.shift
    inside = all(end - extent <= ts < end for ts, extent in zip(times, spec.ranges, strict=True))
    return end if inside else None
