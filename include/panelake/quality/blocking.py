"""What a refused stream slice blocks: every window, of any slice, that would read its tuples.

A stream rule that fails says that the tuples of a slice cannot be trusted. They stay in bronze and panes, so any
window that reaches over them would carry the fault on: such answers are refused until that slice has been fixed, run
again and passed. A slice that is ingested and not audited yet blocks in the same way: nothing unaudited is published.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from panelake.ledger import Entry
from panelake.quality.answer_rules import Answers
from panelake.quality.bronze_rules import StreamSlice
from panelake.quality.metric import SAMPLE_ROWS, Metric, Row, none
from panelake.quality.reach import slices_in_reach
from panelake.slices import Slice


def blocking_metric(stream: StreamSlice, answers: Answers, audits: Sequence[Entry]) -> Metric:
    """The other slices in reach of the due windows whose stream did not pass, by the audits of the stream."""
    blocking = [
        part
        for part in slices_in_reach(stream.known, answers)
        if not _covers(answers.part, part) and not has_passed(part, audits)
    ]

    def sample() -> list[Row]:
        return [{"slice": part.name} for part in blocking[:SAMPLE_ROWS]]

    expected = f"every slice of {answers.query.stream} in reach passed its audit: run those again first"
    return none(answers.table, "reads_passed_slices", len(blocking), expected, sample)


def has_passed(part: Slice, audits: Iterable[Entry]) -> bool:
    """Whether a slice passed, by itself or as part of a longer one; a longer one that was refused takes it back."""
    about = [entry for entry in audits if _covers(entry.slice, part)]
    longer = {entry.status for entry in about if entry.slice != part}
    return "refused" not in longer and any(entry.status == "done" for entry in about)


def _covers(longer: Slice, part: Slice) -> bool:
    return longer.start <= part.start and part.end <= longer.end
