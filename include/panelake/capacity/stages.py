"""A slice's stages, in the order of flow.py, with what each takes: serial seconds, core-seconds and tasks.

Serial seconds pass whatever the cores: start-up and commits of every stage, the memory of files and of the ledger,
answers that one client carries. Core-seconds are shared by all cores, up to as many as the driver can keep busy: it
hands out one task in `Rates.task` seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from panelake.capacity.design import COMPACTED_BYTES, MOST_RANGES, TUPLES_A_RANGE, Design
from panelake.capacity.load import DAY_SECONDS, Load
from panelake.capacity.rates import Rates

NUMBER = "number"  # the ordered commit at the end of ingest, a step of its own
UNBOUNDED = math.inf


@dataclass(frozen=True)
class StageNeed:
    """What one stage of one slice takes."""

    name: str
    serial: float
    work: float = 0.0
    tasks: float = 0.0
    task_seconds: float = 0.0

    @property
    def most_cores(self) -> float:
        """More cores than this wait for the driver, or have no task."""
        if not self.tasks:
            return UNBOUNDED
        driven = self.work / (self.tasks * self.task_seconds) if self.task_seconds else UNBOUNDED
        return max(1.0, min(self.tasks, driven))

    def seconds(self, cores: float) -> float:
        """Alone on so many cores."""
        return self.serial + self.work / min(cores, self.most_cores)


def ranges(load: Load) -> int:
    """Partitions that tuples are moved into to be numbered."""
    return max(1, min(MOST_RANGES, math.ceil(load.tuples / TUPLES_A_RANGE)))


def source_files(load: Load, rates: Rates) -> float:
    """Files that a slice brings."""
    return max(1.0, load.tuples * rates.source_tuple / load.source_file_bytes)


def known_files(load: Load, rates: Rates) -> float:
    """Files that were ever taken."""
    return source_files(load, rates) * load.past_slices


def recall_seconds(load: Load, rates: Rates) -> float:
    """What a slice spends on remembering every file, and comparing each new one with them."""
    known = known_files(load, rates)
    return known * (rates.known_file + source_files(load, rates) * rates.file_pair)


def logged_files(load: Load, rates: Rates) -> float:
    """Files in bronze's log: days that are over compacted, today's as they were written."""
    written = ranges(load) * load.slices_a_day
    return written + min(load.days, load.kept_days) * compacted_files(load, rates)


def compacted_files(load: Load, rates: Rates) -> float:
    """Files of a day of bronze, once it is over."""
    return max(1.0, load.tuples_per_second * DAY_SECONDS * rates.bronze_tuple / COMPACTED_BYTES)


def stage_needs(load: Load, rates: Rates, design: Design) -> list[StageNeed]:
    """All stages of one slice of one shard."""
    blocks = max(1.0, load.tuples * rates.source_tuple / design.block_bytes)
    scans = max(1.0, load.tuples * rates.bronze_tuple / design.scan_bytes)
    joined = max(1.0, load.joined_tuples * rates.bronze_tuple / design.scan_bytes)
    panes = max(1.0, load.pane_rows * rates.pane_row_bytes / design.scan_bytes)
    moved = 0 if design.in_order else ranges(load)
    past = load.past_slices * rates.past_slice if design.recalls_all else 0.0
    recall = recall_seconds(load, rates) if design.recalls_all else 0.0
    answers = load.answers * rates.answer_row if design.answers_by_driver else 0.0
    log = logged_files(load, rates) * rates.logged_file
    work = {
        "ingest": load.tuples / (rates.ingest_in_order if design.in_order else rates.ingest_tuples),
        "panes": load.tuples / rates.pane_tuples + load.pane_rows / rates.pane_rows,
        "windows": load.pane_reads / rates.window_reads,
        "join": load.joined_tuples / rates.join_tuples,
        "audit": load.tuples / rates.audit_tuples,
        "publish": 0.0 if design.answers_by_driver else load.answers * rates.answer_row,
    }
    # Ingest reads its source twice, to count and to write, and sorts in between; a shuffle has tasks on both sides.
    tasks = {"ingest": 2 * blocks + moved, "panes": 2 * scans, "windows": 2 * panes, "join": 2 * joined, "audit": scans}
    extra = {"ingest": recall + log + past, "publish": answers}
    serial = {name: _fixed(name, load, rates) + extra.get(name, 0.0) for name in rates.fixed}
    found = [
        StageNeed(name, seconds, work.get(name, 0.0), tasks.get(name, 0.0), rates.task)
        for name, seconds in serial.items()
    ]
    place = 1 + [need.name for need in found].index("ingest")
    return [*found[:place], StageNeed(NUMBER, rates.number), *found[place:]]


def _fixed(name: str, load: Load, rates: Rates) -> float:
    return rates.fixed[name] + load.queries * rates.a_query.get(name, 0.0)
