"""A soak: micro-batches without a pause, at the highest rate this machine holds, with maintenance at intervals.

A slice is due every `cadence` seconds, when its file lands; it is then run through all stages by this process, a client
of the warm server. Of event time a slice is six hours: days end while the soak runs, so that windows, retention and
compaction have to do what they do in weeks. The rate is found first: the most tuples a slice whose run takes less than
the cadence, with a part of it left for maintenance.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from panelake.benchmarks import soak_sender
from panelake.benchmarks.soak_verdict import Row, judged
from panelake.benchmarks.soak_watch import MemoryWatch, files_on_disk, live_files
from panelake.benchmarks.timing import note
from panelake.context import Context
from panelake.durations import HOUR
from panelake.errors import GateRefusedError
from panelake.maintenance.maintain import maintain
from panelake.runner import run_slice
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CADENCE = 20.0
LOAD = 0.8  # of the cadence: the rest is for maintenance and for what the machine has to do besides
MAINTAIN_EVERY = 6
LEAST, MOST = 50_000, 50_000_000
CLOSE = 1.15  # the rate is found when the least that is too much is so near
START = parse_instant("2026-01-01T00:00:00Z")
LENGTH = 6 * HOUR
STREAMS = """\
slice: 6 hours
retention: {bronze: 2 days, quarantine: 2 days, gold: 4 days, results: 2 days, staging: 1 day, versions: 0 hours}
streams:
  traffic:
    schema: {area_id: int, car_id: int, speed: double, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    where: ["speed >= 0"]
"""
QUERIES = {
    "areas": "SELECT area_id, count(*) AS cars, min(speed) AS slowest, avg(speed) AS mean, max(speed) AS fastest"
    " FROM traffic [RANGE 12 HOURS SLIDE 1 HOUR] GROUP BY area_id",
    "all": "SELECT count(*) AS cars, avg(speed) AS mean FROM traffic [RANGE 50000 SLIDE 10000 WATTR ROW]",
}
FILES_KEPT = 3  # a sender removes what was taken long ago


@dataclass
class Stream:
    """A workspace whose slices land one by one; the next one's file is made while one is run."""

    context: Context
    sender: ProcessPoolExecutor
    tuples: int
    number: int = 0
    landed: list[Path] = field(default_factory=list)
    coming: Future[Path] | None = None

    def prepare(self) -> Future[Path]:
        """Have the next slice's file made."""
        landing = self.context.workspace.root / "landing"
        start = START + self.number * LENGTH
        self.coming = self.sender.submit(soak_sender.write, landing, start, LENGTH, self.tuples)
        return self.coming

    def land(self) -> Slice:
        """Let the file land that is made; what was taken long ago goes."""
        made = self.coming or self.prepare()
        self.landed.append(soak_sender.land(made.result()))
        self.coming = None
        for old in self.landed[:-FILES_KEPT]:
            old.unlink(missing_ok=True)
        part = Slice(START + self.number * LENGTH, START + (self.number + 1) * LENGTH)
        self.number += 1
        return part

    def run(self, part: Slice) -> None:
        for entry in run_slice(self.context, part, lambda *_: None):
            if entry.status == "refused":
                raise GateRefusedError(f"{entry.slice} {entry.subject}: {entry.details.get('why')}")


def run(
    spark: SparkSession, folder: Path, minutes: float, tuples: int | None, cadence: float = CADENCE
) -> dict[str, Any]:
    """Find the rate unless it is given, hold it for so many minutes, and judge; rows and plot go to the folder."""
    from panelake.benchmarks.soak_plot import draw  # noqa: PLC0415 - loads matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        sender = opened.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
        tried: dict[int, float] = {}
        if tuples is None:
            tuples = highest_rate(_stream(spark, folder / "trial", sender, LEAST), cadence * LOAD, tried)
        note(f"soak: {tuples:,} tuples every {cadence:g} s for {minutes:g} minutes")
        rows = soaked(_stream(spark, folder / "world", sender, tuples), minutes, cadence)
    write(rows, folder / "soak.csv")
    checks = judged(rows, cadence)
    draw(rows, folder / "soak.png", f"{tuples / cadence:,.0f} tuples a second, a slice every {cadence:g} s")
    return {
        "tuples a slice": tuples,
        "tuples a second": round(tuples / cadence),
        "cadence": cadence,
        "seconds of one slice, by tuples": {f"{count:,}": round(taken, 2) for count, taken in sorted(tried.items())},
        "slices": len(rows),
        "minutes": round(rows[-1].published / 60, 1) if rows else 0,
        "load": round(os.getloadavg()[0], 1),
        "checks": {check.name: check.document() for check in checks},
        "holds": all(check.holds for check in checks),
    }


def highest_rate(stream: Stream, seconds: float, tried: dict[int, float]) -> int:
    """The most tuples whose slice takes no longer: doubled until one does, then halved into; notes what was tried."""
    _taken(stream)  # warms up what is cold
    low, high = 0, 0
    while not high and stream.tuples <= MOST:
        taken = tried[stream.tuples] = _taken(stream)
        low, high = (low, stream.tuples) if taken > seconds else (stream.tuples, 0)
        stream.tuples *= 2
    while high and low and high / low > CLOSE:
        stream.tuples = (low + high) // 2
        taken = tried[stream.tuples] = _taken(stream)
        low, high = (low, stream.tuples) if taken > seconds else (stream.tuples, high)
    return low or LEAST


def _taken(stream: Stream) -> float:
    part = stream.land()
    began = time.monotonic()
    stream.run(part)
    taken = time.monotonic() - began
    note(f"soak: {stream.tuples:,} tuples in {taken:.1f} s")
    return taken


def soaked(stream: Stream, minutes: float, cadence: float) -> list[Row]:
    """A slice every cadence until the time is over; one that is late is not left out, and its lateness counts.

    Where slices take longer than the cadence, fewer are run than were due: the soak does not last longer for that.
    """
    watch = MemoryWatch()
    watch.start()
    rows: list[Row] = []
    stream.prepare()
    began = time.monotonic()
    try:
        while max(stream.number * cadence, time.monotonic() - began) < 60 * minutes:
            rows.append(_one(stream, watch, began, cadence))
    finally:
        watch.end()
    return rows


def _one(stream: Stream, watch: MemoryWatch, origin: float, cadence: float) -> Row:
    number, due = stream.number, stream.number * cadence
    time.sleep(max(0.0, origin + due - time.monotonic()))
    part = stream.land()
    stream.prepare()
    began = time.monotonic() - origin
    stream.run(part)
    published = time.monotonic() - origin
    is_time = number % MAINTAIN_EVERY == MAINTAIN_EVERY - 1
    upkeep = _maintained(stream.context) if is_time else 0.0
    context = stream.context
    return Row(
        number,
        due,
        began,
        published,
        upkeep,
        watch.most(),
        live_files(context),
        files_on_disk(context.workspace.warehouse),
    )


def _maintained(context: Context) -> float:
    began = time.monotonic()
    for _ in maintain(context):
        pass
    return time.monotonic() - began


def _stream(spark: SparkSession, root: Path, sender: ProcessPoolExecutor, tuples: int) -> Stream:
    (root / "landing").mkdir(parents=True)
    (root / "queries").mkdir()
    (root / "streams.yaml").write_text(STREAMS)
    for name, text in QUERIES.items():
        (root / "queries" / f"{name}.sql").write_text(text)
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    return Stream(context, sender, tuples)


def write(rows: Sequence[Row], path: Path) -> None:
    """A line a slice: times in seconds of the run, megabytes, files of every table."""
    processes = sorted({name for row in rows for name in row.memory})
    tables = sorted({name for row in rows for name in row.files})
    fixed = ["slice", "due", "began", "published", "run_seconds", "latency_seconds", "maintenance_seconds"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*fixed, *(f"{name} MB" for name in processes), *tables, "files on disk"])
        for row in rows:
            times = [row.due, row.began, row.published, row.run, row.latency, row.maintenance]
            memory = [round(row.memory.get(name, 0.0), 1) for name in processes]
            counts = [row.files.get(name, 0) for name in tables]
            writer.writerow([row.number, *(round(value, 3) for value in times), *memory, *counts, row.on_disk])
