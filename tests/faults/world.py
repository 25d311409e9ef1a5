"""A workspace twice over the same landed files: one runs undisturbed, the other is broken on purpose.

    landing ──┬── undisturbed: every slice once, in this process
              └── disturbed:   the same slices by `panelake run`, with faults; then run again

Streams of Parquet and of JSON lines, with late, future and unusable tuples; windows over time and rows, and a join that
remembers. Values are quarters, so that sums are exact in any order, and tables can be compared as rows.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from panelake.catalog import Catalog
from panelake.context import Context
from panelake.ledger import Ledger
from panelake.numbers import Numbers
from panelake.runner import run_slice
from panelake.slices import Slice, format_instant
from panelake.workspace import load_workspace

from .tally import Trial

SECOND = 1_000_000
STREAMS = """\
slice: {length} seconds
streams:
  cars:
    schema: {{car: int, area: int, speed: double, ts: timestamp}}
    event_time: ts
    source: {{format: parquet, path: {landing}/cars}}
    lateness: 1 day
    where: ["speed >= 0"]
  calls:
    schema: {{car: int, cost: double, ts: timestamp}}
    event_time: ts
    source: {{format: json, path: {landing}/calls, arrival: file}}
    lateness: 1 day
    future: 1 day
"""
QUERIES = {
    "speeds": "SELECT area, count(*) AS n, avg(speed) AS mean, max(speed) AS fastest FROM cars"
    " [RANGE {range} SECONDS SLIDE {slide} SECONDS] GROUP BY area",
    "paces": "SELECT count(*) AS n, sum(speed) AS total FROM cars [RANGE 40 SLIDE 15 WATTR ROW]",
    "few": "SELECT cars.car, calls.ts AS called_at FROM cars [RANGE {slide} SECONDS SLIDE {slide} SECONDS],"
    " calls [RANGE {slide} SECONDS SLIDE {slide} SECONDS] WHERE cars.car = calls.car"
    " WITH (MEMORY 8 ROWS, SHED BY oldest)",
}
CARS = pa.schema([
    ("car", pa.int32()), ("area", pa.int32()), ("speed", pa.float64()), ("ts", pa.timestamp("us", tz="UTC")),
])  # fmt: skip
KINDS = ("bronze", "quarantine", "held", "panes", "gold", "state")
Tables = dict[str, Counter[str]]


@dataclass
class World:
    """The slices of one length from `start` on, upwards or, with step -1, into the past."""

    root: Path
    start: int
    length: int = 120
    step: int = 1
    tuples: int = 120
    number: int = 0

    def __post_init__(self) -> None:
        self.landing, self.disturbed, self.undisturbed = (
            self.root / name for name in ("landing", "disturbed", "undisturbed")
        )
        for folder in (self.landing / "cars", self.landing / "calls"):
            folder.mkdir(parents=True)
        bounds = {"range": 3 * self.length // 2, "slide": self.length // 4}
        for workspace in (self.disturbed, self.undisturbed):
            (workspace / "queries").mkdir(parents=True)
            text = STREAMS.format(length=self.length, landing=self.landing)
            (workspace / "streams.yaml").write_text(text)
            for name, query in QUERIES.items():
                (workspace / "queries" / f"{name}.sql").write_text(query.format(**bounds))

    @property
    def warehouse(self) -> Path:
        return self.disturbed / "warehouse"

    def slice(self, number: int) -> Slice:
        start = self.start + self.step * number * self.length * SECOND
        return Slice(start, start + self.length * SECOND)

    def next_slice(self) -> Slice:
        """Land the next slice's files, and have the undisturbed run make its tables."""
        part = self.slice(self.number)
        self.land(part, random.Random(self.number))  # noqa: S311 - a seed, not a secret
        self.number += 1
        self.run_undisturbed(part)
        return part

    def land(self, part: Slice, chance: random.Random) -> None:
        times = [chance.randrange(part.start, part.end) for _ in range(self.tuples)]
        if self.step > 0 and self.number:
            times += [chance.randrange(part.start - self.length * SECOND, part.start) for _ in range(6)]  # late
        if self.step > 0:
            times += [chance.randrange(part.end, part.end + self.length * SECOND) for _ in range(4)]  # ahead
        cars = [
            {
                "car": chance.randrange(30),
                "area": chance.randrange(4),
                "speed": chance.randrange(-20, 400) / 4,
                "ts": at,
            }
            for at in times
        ]
        cars += [{"car": 1, "area": 1, "speed": 1.0, "ts": None}] * 2
        pq.write_table(pa.Table.from_pylist(cars, CARS), self.cars_of(part))
        calls = [
            {"car": chance.randrange(30), "cost": chance.randrange(80) / 4, "ts": format_instant(at)}
            for at in chance.sample(times, len(times) // 2)
        ]
        lines = [json.dumps(call) for call in calls] + ['{"car": 1, "cost": '] * 2
        self.calls_of(part).write_text("\n".join(lines) + "\n")

    def cars_of(self, part: Slice) -> Path:
        return self.landing / "cars" / f"{part.start}.parquet"

    def calls_of(self, part: Slice) -> Path:
        return self.landing / "calls" / f"{part.start}.json"

    def run_undisturbed(self, part: Slice) -> None:
        """The slice once, in this process."""
        context = Context(load_workspace(self.undisturbed))
        try:
            run_slice(context, part, lambda *_: None)
        finally:
            context.close()

    def command(self, *parts: Slice, more: tuple[str, ...] = ()) -> list[str]:
        bounds = ["--from", parts[0].name, "--to", format_instant(parts[-1].end)]
        return [sys.executable, "-m", "panelake.cli", "run", "--workspace", str(self.disturbed), *bounds, *more]

    @contextmanager
    def running(
        self, *parts: Slice, more: tuple[str, ...] = (), variables: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """`panelake run` of the slices as a process of its own; what still runs at the end of the block is killed."""
        environment = {**os.environ, **(variables or {})}
        process = subprocess.Popen(
            self.command(*parts, more=more),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def run(self, *parts: Slice, code: int = 0, more: tuple[str, ...] = (), **options: Any) -> str:
        """`panelake run` to its end; what it said."""
        with self.running(*parts, more=more, **options) as process:
            said, _ = process.communicate(timeout=400)
        assert process.returncode == code, said
        return said

    def differences(self, without: str = "") -> str:
        """What the disturbed tables lack or have too much of, against the undisturbed ones; empty where nothing."""
        wanted, got = (rows_of(folder / "warehouse", without) for folder in (self.undisturbed, self.disturbed))
        wanted["ledger"], got["ledger"] = (
            entries_of(folder / "warehouse", counts=not without) for folder in (self.undisturbed, self.disturbed)
        )
        found = [_difference(name, wanted.get(name, Counter()), got.get(name, Counter())) for name in wanted | got]
        return "; ".join(filter(None, found))

    def assert_consistent(self, trial: Trial, before: Tables) -> None:
        """Right after the fault every table is as before the slice or as after it: a commit is whole or not there."""
        after, now = rows_of(self.undisturbed / "warehouse"), rows_of(self.warehouse)
        nothing: Counter[str] = Counter()
        halves = [name for name in now if now[name] not in (before.get(name, nothing), after.get(name, nothing))]
        trial.loss = "".join(f"{name} is neither as before nor as after the slice; " for name in halves)
        assert not trial.loss, trial

    def assert_healed(self, trial: Trial, without: str = "") -> None:
        """The slice was run again: its tables are the undisturbed ones, a column apart where one is named."""
        trial.loss = self.differences(without)
        if trial.loss:
            self.level()  # later trials are not to suffer from this one
        assert not trial.loss, trial

    def level(self) -> None:
        """Go on from the undisturbed tables."""
        for kind in self.warehouse.iterdir():
            shutil.rmtree(kind)
        shutil.copytree(self.undisturbed / "warehouse", self.warehouse, dirs_exist_ok=True)


def rows_of(warehouse: Path, without: str = "") -> Tables:
    """Every row of every table, as text, as often as it is there."""
    found: Tables = {}
    for kind in KINDS:
        for folder in sorted((warehouse / kind).glob("*/_delta_log")):
            rows = DeltaTable(str(folder.parent)).to_pyarrow_table()
            columns = sorted(name for name in rows.column_names if name != without)
            found[f"{kind}/{folder.parent.name}"] = Counter(map(repr, rows.select(columns).to_pylist()))
    return {name: rows for name, rows in found.items() if rows}


def entries_of(warehouse: Path, *, counts: bool) -> Counter[str]:
    """What the ledger says was done, and which numbers it gave; rows that were restated count once more in it."""
    catalog = Catalog(str(warehouse))
    entries = [
        (e.slice.start, e.stage, e.subject, e.status, e.rows if counts and e.stage != "report" else None)
        for e in Ledger(catalog).entries()
    ]
    numbers = [(stream, one) for stream in ("cars", "calls") for one in Numbers(catalog).taken(stream)]
    return Counter(repr(one) for one in [*entries, *numbers])


def _difference(name: str, wanted: Counter[str], got: Counter[str]) -> str:
    lost, more = wanted - got, got - wanted
    if not lost and not more:
        return ""
    shown = [f"lost {row}" for row in list(lost)[:2]] + [f"more {row}" for row in list(more)[:2]]
    return f"{name}: {lost.total()} lost, {more.total()} more than once or never: {' | '.join(shown)}"


def commits(warehouse: Path) -> int:
    """How many commits all tables below hold."""
    return sum(1 for _ in warehouse.glob("*/*/_delta_log/*.json"))
