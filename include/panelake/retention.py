"""`retention` in streams.yaml: how long the rows of each kind of table stay.

Ages are counted back from the end of the stream's newest ingested slice, never from the clock: a stream that stands
still loses nothing. Only `versions`, the old versions of Delta tables, goes by the clock, as Delta itself does.
"""

from __future__ import annotations

from panelake.durations import DAY
from panelake.streams import Duration, PositiveDuration, StrictModel

_WEEK = 7 * DAY


class Retention(StrictModel):
    """Microseconds; None keeps rows for ever. The ledger, with its memory of files and offsets, is never pruned."""

    bronze: PositiveDuration | None = None
    quarantine: PositiveDuration | None = None
    gold: PositiveDuration | None = None
    state: PositiveDuration | None = None
    results: PositiveDuration | None = None
    staging: PositiveDuration | None = _WEEK
    versions: Duration = _WEEK
