"""Results of one tuple, written as far as the output has room: an odometer over the chains of the other streams.

The last stream is the fastest wheel, each wheel begins at the key's newest tuple, and the tuple's own stands still.
Whose chains they are, rings' or slots', is told by their type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from panelake.kernels.joins import ring_window, windows
from panelake.kernels.joins.arrivals import Matches
from panelake.kernels.joins.clock import EMITTING, IDLE, PERIOD_END, Clock
from panelake.kernels.joins.compiled import part, part_by_type
from panelake.kernels.joins.slots import NOTHING

Held = Any  # Rings or Windows
_ID: dict[type, Callable[..., int]] = {ring_window.Rings: ring_window.id_at, windows.Windows: windows.id_at}
_OLDER: dict[type, Callable[..., int]] = {ring_window.Rings: ring_window.older_at, windows.Windows: windows.older_at}


def id_at(held: Held, stream: int, at: int) -> int:
    """The number by which a result names the tuple."""
    return _ID[type(held)](held, stream, at)


def older_at(held: Held, stream: int, at: int) -> int:
    """The next older tuple of the same key that is still there, or NOTHING."""
    return _OLDER[type(held)](held, stream, at)


part_by_type(id_at, _ID)
part_by_type(older_at, _OLDER)


@part
def emit(held: Held, clock: Clock, matches: Matches, filled: int) -> int:
    """Write results from the odometer's reading on; give how many there are. IDLE once all are written."""
    while filled < len(matches.window_end):
        for stream in range(len(clock.at)):
            matches.ids[stream, filled] = id_at(held, stream, clock.at[stream])
        matches.window_end[filled] = clock.now[PERIOD_END]
        filled += 1
        if not _turn(held, clock, clock.now[EMITTING]):
            clock.now[EMITTING] = IDLE
            break
    return filled


@part
def _turn(held: Held, clock: Clock, newest: int) -> bool:
    """Turn the odometer by one; False once it has been all the way round."""
    for stream in range(len(clock.at) - 1, -1, -1):
        older = older_at(held, stream, clock.at[stream])
        if (older != NOTHING) & (stream != newest):
            clock.at[stream] = older
            return True
        clock.at[stream] = clock.first[stream]
    return False
