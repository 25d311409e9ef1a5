"""Workspaces with joins for tests: tuples land, slices run, gold is held against brute force on bronze."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from panelake.context import Context
from panelake.flow import stage_named
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.runner import run_stage
from panelake.slices import Slice, to_microseconds
from panelake.staging import digest, join_results, open_parquet
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "date": pa.date32(),
    "decimal(9,2)": pa.decimal128(9, 2),
}
STAGES = ("ingest", "join")
Tuple = dict[str, Any]


@dataclass
class JoinWorld:
    """Streams with a key `k` of one type each, a second key `g`, a number `x` and the event time `ts`."""

    root: Path
    length: int
    keys: dict[str, str]
    spark: SparkSession
    files: int = 0
    contexts: dict[str, Context] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lines = [f"slice: {self.length} seconds", "streams:"]
        for name, kind in self.keys.items():
            (self.root / "landing" / name).mkdir(parents=True)
            lines += [
                f"  {name}:",
                f'    schema: {{k: "{kind}", g: int, x: int, ts: timestamp}}',
                "    event_time: ts",
                f"    source: {{format: parquet, path: landing/{name}}}",
                "    lateness: 1 day",
            ]
        (self.root / "streams.yaml").write_text("\n".join(lines) + "\n")
        (self.root / "queries").mkdir()

    def write_query(self, name: str, text: str) -> None:
        (self.root / "queries" / f"{name}.sql").write_text(text)
        self.contexts.clear()

    @property
    def context(self) -> Context:
        if "now" not in self.contexts:
            context = Context(load_workspace(self.root))
            vars(context)["spark"] = self.spark
            self.contexts["now"] = context
        return self.contexts["now"]

    def land(self, stream: str, tuples: list[Tuple]) -> None:
        schema = pa.schema([
            ("k", TYPES[self.keys[stream]]), ("g", pa.int32()), ("x", pa.int32()), ("ts", pa.timestamp("us", tz="UTC")),
        ])  # fmt: skip
        if tuples:
            path = self.root / "landing" / stream / f"{self.files:03}.parquet"
            pq.write_table(pa.Table.from_pylist(tuples, schema=schema), path)
            self.files += 1

    def run(self, part: Slice) -> dict[str, Entry]:
        """The stages that joins need; the audit is taken as passed. Gives the join stage's entries."""
        for name in STAGES:
            entries = run_stage(self.context, part, stage_named(name))
        return self.publish(part, {entry.subject: entry for entry in entries if entry.subject})

    def run_join(self, part: Slice) -> list[Entry]:
        """The join stage alone."""
        return run_stage(self.context, part, stage_named("join"))

    def publish(self, part: Slice, joined: dict[str, Entry]) -> dict[str, Entry]:
        self.context.ledger.record([self._passed(name, part) for name in joined])
        for entry in run_stage(self.context, part, stage_named("publish")):
            assert entry.status == "done", entry.details
        return joined

    def _passed(self, query: str, part: Slice) -> Entry:
        joined = self.context.ledger.of_slice(part)["join", query]
        staged = open_parquet(join_results(self.context.catalog.staged_join(query, part), joined.details))
        return Entry(
            part, "audit", f"gold/{query}", "done", 0, details={"staged": digest(staged.files if staged else [])}
        )

    def bronze(self, stream: str) -> list[Tuple]:
        rows = DeltaTable(self.context.catalog.bronze(stream)).to_pyarrow_table().to_pylist()
        return [{**row, "ts": to_microseconds(row["ts"]), "_slice": to_microseconds(row["_slice"])} for row in rows]

    def gold(self, query: str) -> dict[tuple[int, ...], Tuple]:
        """Rows by the numbers of their tuples."""
        aliases = [stream.alias for stream in self.context.workspace.joins[query].streams]
        rows = DeltaTable(self.context.catalog.gold(query)).to_pyarrow_table().to_pylist()
        found = {tuple(row[f"_seq_{alias}"] for alias in aliases): row for row in rows}
        assert len(found) == len(rows), f"{query}: a combination is there twice"
        return found

    def expected(self, query: JoinQuery, keep: Any = None) -> dict[tuple[int, ...], tuple[int, int]]:
        """By the definition: numbers → window end and slice, for every combination of tuples in bronze."""
        streams = [self.bronze(stream.stream) for stream in query.streams]
        found = {}
        for members in product(*streams):
            keys = [tuple(row[n] for n in one.keys) for row, one in zip(members, query.streams, strict=True)]
            newest = max(row["ts"] for row in members)
            end = (newest - query.offset) // query.slide * query.slide + query.slide + query.offset
            inside = all(end - one.range <= row["ts"] for row, one in zip(members, query.streams, strict=True))
            null = any(value is None for key in keys for value in key)
            if inside and not null and len(set(keys)) == 1 and (keep is None or keep(members)):
                numbers = tuple(row["_seq"] for row in members)
                found[numbers] = (end, max(row["_slice"] for row in members))
        return found

    def assert_exact(self, name: str, keep: Any = None) -> int:
        """Gold is what the definition says; give how many rows."""
        wanted = self.expected(self.context.workspace.joins[name], keep)
        got = self.gold(name)
        places = {n: (to_microseconds(row["window_end"]), to_microseconds(row["_slice"])) for n, row in got.items()}
        assert places == wanted, f"{name}: {len(places)} rows, {len(wanted)} expected"
        return len(got)
