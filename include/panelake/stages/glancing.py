"""Counts a slice by its event times alone, where no rule asks for more: no pass over its tuples is needed."""

from __future__ import annotations

import re

from panelake.slices import Slice
from panelake.sources.inputs import SliceInput
from panelake.sources.source import Reader
from panelake.stages.bronze_order import MOST_FILES
from panelake.stages.verdicts import Counts, Rules

_PLAIN = re.compile(r"[\w./:=+-]*", re.ASCII)


def counted(reader: Reader, chosen: SliceInput, rules: Rules, part: Slice) -> Counts | None:
    """The counts of a slice whose every tuple is its own and accepted; None where tuples must be looked at."""
    if rules.where or rules.unique or not 0 < len(chosen.files) <= MOST_FILES:
        return None
    # Spark escapes other characters in the names it orders tuples by.
    if not all(_PLAIN.fullmatch(taken.file.path) for taken in chosen.files):
        return None
    counts = Counts(part)
    for taken in chosen.files:
        seen = reader.glance(taken, part)
        if seen is None:
            return None
        counts.glances.append(seen)
        counts.histogram.update(seen.histogram)
    filled = [seen for seen in counts.glances if seen.count]
    if filled:
        counts.low, counts.high = min(seen.low for seen in filled), max(seen.high for seen in filled)
    counts.read = counts.accepted
    return counts
