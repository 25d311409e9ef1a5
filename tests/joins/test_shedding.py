"""Joins within a memory budget through the pipeline: the headlines of the paper, states, accounting and repair."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from panelake.cli import main
from panelake.commands.repair import repair
from panelake.context import Context
from panelake.home import example_workspace
from panelake.ledger import Entry
from panelake.repairs import pending_repairs
from panelake.runner import run_slice
from panelake.slices import Slice, parse_instant
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

from .join_world import SECOND, JoinWorld, Tuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
START = parse_instant("2026-01-01T00:00:00Z")
LENGTH = 20 * SECOND


def nothing(*_: object) -> None:
    """No progress is shown."""


def test_the_headlines_come_out_right_through_the_whole_pipeline(tmp_path: Path, spark: SparkSession) -> None:
    """28 headlines over two slices, four slots a site: all three shared stories, though many headlines are shed."""
    root = tmp_path / "news"
    shutil.copytree(example_workspace("news"), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("news", 28, 0.05, 1, START, root / "landing", nothing)
    context = Context(load_workspace(root))
    vars(context)["spark"] = spark
    parts = [Slice(START + n * 300 * SECOND, START + (n + 1) * 300 * SECOND) for n in range(2)]
    entries = [entry for part in parts for entry in run_slice(context, part, nothing)]
    assert not [entry.details for entry in entries if entry.status == "refused"]
    gold = DeltaTable(context.catalog.gold("shared_stories"))
    assert sorted(gold.to_pyarrow_table()["keyword"].to_pylist()) == ["개성공단", "신종플루", "화물연대"]
    joined = [entry for entry in entries if (entry.stage, entry.subject) == ("join", "shared_stories")]
    assert [entry.rows for entry in joined] == [1, 2]
    assert sum(entry.details["shed"] for entry in joined) == 12, "28 headlines, 16 slots"
    assert all(most <= 4 for entry in joined for most in entry.details["held"].values())
    run_slice(context, parts[1], nothing)
    assert DeltaTable(context.catalog.gold("shared_stories")).version() == gold.version(), "run again, nothing changes"


class SheddingWorld(JoinWorld):
    """Two streams of 60 tuples over three slices, two slots a stream, the oldest goes."""

    def fill(self, slices: list[Slice]) -> None:
        rng = random.Random(5)  # noqa: S311 - a seed, not a secret
        for stream in self.keys:
            for part in slices:
                self.land(stream, [_tuple(rng, part) for _ in range(12)])

    def joined(self, part: Slice) -> Entry:
        return self.context.ledger.of_slice(part)["join", "q"]


def _tuple(rng: random.Random, part: Slice) -> Tuple:
    return {"k": rng.randrange(3), "g": 1, "x": 0, "ts": rng.randrange(part.start, part.end)}


QUERY = """SELECT a.k, b.ts AS b_at FROM a [RANGE 15 SECONDS SLIDE 5 SECONDS], b [RANGE 15 SECONDS SLIDE 5 SECONDS]
WHERE a.k = b.k WITH (EVERY 1 SECOND, MEMORY 2 ROWS, SHED BY oldest)"""


def test_what_was_shed_is_counted_and_repaired_exactly(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    slices = [Slice(START + n * LENGTH, START + (n + 1) * LENGTH) for n in range(3)]
    world = SheddingWorld(tmp_path / "w", 20, {"a": "int", "b": "int"}, spark)
    world.write_query("q", QUERY)
    world.fill(slices)
    for part in slices:
        world.run(part)
    wanted, shed = world.expected(world.context.workspace.joins["q"]), world.gold("q")
    assert 0 < len(shed) < len(wanted)
    assert shed.keys() <= wanted.keys(), "shedding only takes away"
    told = [world.joined(part).details for part in slices]
    assert all(one["shed"] > 0 and 0 < one["estimated_accuracy"] <= 1 and one["shed_by"] for one in told)
    _running_again_reproduces(world, slices[1])
    _dry_run_touches_nothing(world, capsys)
    _repaired(world, slices)


def _running_again_reproduces(world: SheddingWorld, part: Slice) -> None:
    before, gold = world.joined(part), world.gold("q")
    states = DeltaTable(world.context.catalog.state("q")).to_pyarrow_table().sort_by("slice_start")
    world.run(part)
    assert world.gold("q") == gold
    after = world.joined(part).details
    assert after | {"attempt": before.details["attempt"]} == before.details
    assert DeltaTable(world.context.catalog.state("q")).to_pyarrow_table().sort_by("slice_start") == states


def _dry_run_touches_nothing(world: SheddingWorld, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["repair", "--dry-run", "--json", "--workspace", str(world.root)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [len(one["slices"]) for one in document["repairs"]] == [3]
    assert document["repaired"] == []


def _repaired(world: SheddingWorld, slices: list[Slice]) -> None:
    """The audit is part of it here: after repair gold is the unlimited run, and stays so."""
    limited = {part: world.joined(part).rows for part in slices}
    world.context.ledger.record([Entry(part, "windows", "", "done", 0, details={"others_seen": 0}) for part in slices])
    entries = repair(world.context, pending_repairs(world.context))
    assert not [entry.details for entry in entries if entry.status == "refused"]
    world.assert_exact("q")
    for part in slices:
        details = world.joined(part).details
        assert details["measured_accuracy"] == pytest.approx(limited[part] / world.joined(part).rows, abs=1e-6)
        assert {"shed", "estimated_accuracy"} <= details.keys()
    assert pending_repairs(world.context) == []
    world.run(slices[0])
    world.assert_exact("q")
