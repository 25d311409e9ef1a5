"""Slices of worlds made for measuring: each lands its files, runs its stages, and tells what every one took.

Processor seconds count, since other work on the machine hardly changes these: of the server with its Python workers,
and of this process. What is shuffled is told by the files that a stage leaves in the server's scratch folder.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from panelake.benchmarks.timing import Work, spent
from panelake.context import Context
from panelake.durations import MINUTE
from panelake.errors import TransientError
from panelake.flow import STAGES, stage_named
from panelake.home import home
from panelake.ledger import Entry, Ledger
from panelake.runner import run_stage
from panelake.slices import Slice
from panelake.workspace import load_workspace

LENGTH = 5 * MINUTE
SLICE_SECONDS = LENGTH / 1_000_000
SLIDE_SECONDS = 60
CARS = {"area_id": "int", "car_id": "int", "speed": "double", "ts": "timestamp"}
PAIRS = {"k": "bigint", "v": "int", "ts": "timestamp"}
ALL = tuple(stage.name for stage in STAGES)
_FILES = 4
_SELECTED = "area_id, count(*) AS cars, min(speed) AS slowest, avg(speed) AS mean, max(speed) AS fastest"
_JOIN = (
    "SELECT a.k, a.ts AS at_a, b.ts AS at_b FROM a [RANGE 5 MINUTES SLIDE 1 MINUTE], b [RANGE 5 MINUTES SLIDE 1 MINUTE]"
    " WHERE a.k = b.k"
)


@dataclass(frozen=True)
class Took:
    """One stage of one slice: seconds by the clock, processor seconds of both sides, bytes shuffled and written."""

    seconds: float
    server: float
    client: float
    shuffled: float
    written: float
    rows: int

    @property
    def processor(self) -> float:
        return self.server + self.client

    @property
    def undisturbed(self) -> float:
        """Seconds by the clock, or the processor's where these are fewer: other work stretches the clock alone."""
        return min(self.seconds, self.processor)


def undisturbed(work: Work, repeats: int = 3) -> float:
    """The same of any work: the least of some runs, after one to warm up where it is repeated at all."""
    if repeats > 1:
        work()
    return min(_undisturbed(work) for _ in range(repeats))


def _undisturbed(work: Work) -> float:
    own = time.process_time()
    one = spent(work)
    return min(one.seconds, one.processor + time.process_time() - own)


@dataclass(frozen=True)
class Ran:
    """One slice: how large it was, what its stages took, and what it left behind.

    `pane_reads` are pane rows, its own and those before it, once for each query whose windows reach them.
    """

    tuples: int
    source_bytes: float
    took: Mapping[str, Took]
    commits: int
    full_reads: int
    ledger_rows: int
    pane_reads: float = 0.0

    @property
    def pane_rows(self) -> int:
        return self.took["panes"].rows


class CountedLedger(Ledger):
    """Counts the reads of a stage's whole history: they grow with every slice."""

    full_reads = 0

    def entries(
        self, *, stage: str | None = None, subject: str | None = None, within: Slice | None = None
    ) -> list[Entry]:
        self.full_reads += within is None
        return super().entries(stage=stage, subject=subject, within=within)


@dataclass
class World:
    """A workspace whose slices are landed and run one after another."""

    context: Context
    landing: Path
    streams: Mapping[str, Mapping[str, str]]
    queries: int
    in_order: bool = False
    pane_rows: list[int] = field(default_factory=list)
    ledger: CountedLedger = field(init=False)

    def __post_init__(self) -> None:
        self.context.ledger = self.ledger = CountedLedger(self.context.catalog)

    def run(self, tuples: int, groups: int, stages: Sequence[str] = ALL) -> Ran:
        """Land the next slice and run it; a refused one would measure nothing."""
        part = Slice(len(self.pane_rows) * LENGTH, (len(self.pane_rows) + 1) * LENGTH)
        size = float(sum(self._land(stream, part, tuples, groups) for stream in self.streams))
        before, reads = self._commits(), self.ledger.full_reads
        took = {name: self._stage(part, name) for name in stages}
        self.pane_rows.append(took["panes"].rows if "panes" in took else 0)
        commits, full_reads = self._commits() - before, self.ledger.full_reads - reads
        ledger_rows = len(self.ledger.of_slice(part))
        return Ran(tuples * len(self.streams), size, took, commits, full_reads, ledger_rows, self._pane_reads())

    def _pane_reads(self) -> float:
        """Of the newest slice; a query's range is so many minutes as its number says."""
        ranges = [60.0 * number / SLICE_SECONDS for number in range(1, self.queries + 1)]
        newest_first = self.pane_rows[::-1]
        reached = [1.0 + sum(min(1.0, max(0.0, range_ - place)) * rows / max(1, newest_first[0])
                             for place, rows in enumerate(newest_first[1:])) for range_ in ranges]  # fmt: skip
        return newest_first[0] * sum(reached)

    def _stage(self, part: Slice, name: str) -> Took:
        entries: list[Entry] = []
        shuffled, written, own = _shuffle_files(), _bytes(self._warehouse), time.process_time()
        one = spent(lambda: entries.extend(run_stage(self.context, part, stage_named(name))))
        own = time.process_time() - own
        refused = [entry for entry in entries if entry.status == "refused"]
        if refused:
            raise TransientError(f"the benchmark's own slice was refused: {refused[0].details.get('why')}")
        new = sum(size for file, size in _shuffle_files().items() if file not in shuffled)
        rows = sum(entry.rows for entry in entries if entry.subject)
        return Took(one.seconds, one.processor, own, float(new), _bytes(self._warehouse) - written, rows)

    @property
    def _warehouse(self) -> Path:
        return Path(self.context.workspace.warehouse)

    def _commits(self) -> int:
        return sum(1 for _ in self._warehouse.rglob("_delta_log/*.json"))

    def _land(self, stream: str, part: Slice, tuples: int, groups: int) -> int:
        """Some files, each of which spans the slice, or where in order its part of it; give their bytes."""
        folder = self.landing / stream
        folder.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng(part.start // LENGTH)
        sizes = [len(share) for share in np.array_split(np.arange(tuples), _FILES)]
        size = 0
        for number, count in enumerate(sizes):
            low = part.start + (number * LENGTH // _FILES if self.in_order else 0)
            high = low + (LENGTH // _FILES if self.in_order else LENGTH)
            times = generator.integers(low, high, count)
            path = folder / f"{part.start // LENGTH:05d}-{number}.parquet"
            pq.write_table(_table(generator, self.streams[stream], np.sort(times), groups), path)
            size += path.stat().st_size
        return size


def paned(spark: SparkSession, root: Path, queries: int, *, in_order: bool = False) -> World:
    """One stream of cars and queries over one to so many minutes, every minute; without any where in order."""
    texts = {
        f"q{number}": f"SELECT {_SELECTED} FROM cars [RANGE {60 * number} SECONDS SLIDE {SLIDE_SECONDS} SECONDS]"  # noqa: S608 - our own numbers
        " GROUP BY area_id"
        for number in range(1, queries + 1)
    }
    return _world(spark, root, {"cars": CARS}, texts, in_order=in_order)


def joined(spark: SparkSession, root: Path) -> World:
    """Two streams and their join over five minutes."""
    return _world(spark, root, {"a": PAIRS, "b": PAIRS}, {"pairs": _JOIN})


def _world(
    spark: SparkSession,
    root: Path,
    streams: Mapping[str, Mapping[str, str]],
    queries: Mapping[str, str],
    *,
    in_order: bool = False,
) -> World:
    (root / "queries").mkdir(parents=True)
    landing = root / "landing"
    declared = {
        name: {
            "schema": dict(columns),
            "event_time": "ts",
            "source": {"format": "parquet", "path": str(landing / name)},
            **({} if in_order or "speed" not in columns else {"where": ["speed >= 0"]}),
        }
        for name, columns in streams.items()
    }
    (root / "streams.yaml").write_text(json.dumps({"slice": "5 minutes", "streams": declared}), encoding="utf-8")
    for name, text in queries.items():
        (root / "queries" / f"{name}.sql").write_text(text + "\n", encoding="utf-8")
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    return World(context, landing, streams, len(queries), in_order)


def _table(generator: np.random.Generator, columns: Mapping[str, str], times: np.ndarray, groups: int) -> pa.Table:
    count = len(times)
    values = {
        "area_id": pa.array(generator.integers(0, groups, count), pa.int32()),
        "car_id": pa.array(generator.integers(0, 20_000, count), pa.int32()),
        "speed": pa.array(np.round(generator.uniform(0, 90, count), 1)),
        "k": pa.array(generator.integers(0, groups, count), pa.int64()),
        "v": pa.array(generator.integers(0, 1_000, count), pa.int32()),
        "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
    }
    return pa.table({name: values[name] for name in columns})


def _shuffle_files() -> dict[str, int]:
    found = {}
    for path in (home() / "scratch" / "server").glob("blockmgr-*/*/shuffle_*.data"):
        found[str(path)] = path.stat().st_size
    return found


def _bytes(folder: Path) -> float:
    """Of data alone: logs and locks are counted as commits."""
    return float(sum(path.stat().st_size for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts))
