"""A tuple that is forgotten leaves the states of joins, their results and staging too.

slices      0 | 1 | 2     a and b hold four tuples each; b brings so many in slice 0 that it sheds, and is repaired
stream a    P |   |       the person, at the end of slice 0; nothing after it moves a's window on
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.commands.repair import repair
from panelake.maintenance.forget import Person, forget
from panelake.repairs import pending_repairs
from panelake.runner import run_slice
from panelake.slices import Slice, parse_instant
from panelake.spark.join_worker import SEQ, STREAM
from panelake.spark.shed_worker import unpacked

from .join_world import SECOND, JoinWorld

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

START = parse_instant("2026-01-01T00:00:00Z")
LENGTH = 20 * SECOND
PERSON = 7
QUERY = """SELECT a.x, b.ts AS b_at FROM a [RANGE 15 SECONDS SLIDE 5 SECONDS], b [RANGE 15 SECONDS SLIDE 5 SECONDS]
WHERE a.k = b.k WITH (EVERY 1 SECOND, MEMORY 4 ROWS, SHED BY oldest)"""


def nothing(*_: object) -> None:
    """No progress is shown."""


def slices() -> list[Slice]:
    return [Slice(START + n * LENGTH, START + (n + 1) * LENGTH) for n in range(3)]


def land(world: JoinWorld) -> None:
    def at(second: int, key: int, number: int) -> dict[str, int]:
        return {"k": key, "g": 1, "x": number, "ts": START + second * SECOND}

    world.land("a", [at(2, 1, 1), at(3, 2, 2), at(19, 1, PERSON)])
    world.land("b", [*(at(second, second % 2 + 1, second) for second in range(1, 15)), at(18, 1, 18)])
    world.land("b", [at(25, 1, 25), at(45, 1, 45)])


def remembered(world: JoinWorld, place: int) -> list[int]:
    """The numbers of the stream's tuples that any state holds."""
    blobs = DeltaTable(world.context.catalog.state("q")).to_pyarrow_table()["held"].to_pylist()
    held = [unpacked(blob) for blob in blobs if blob is not None]
    return [number for rows in held for number in rows.filter(pc.equal(rows[STREAM], place))[SEQ].to_pylist()]


def test_a_forgotten_tuple_leaves_states_results_and_staging(tmp_path: Path, spark: SparkSession) -> None:
    world = JoinWorld(tmp_path / "w", 20, {"a": "int", "b": "int"}, spark)
    world.write_query("q", QUERY)
    land(world)
    for part in slices():
        assert not [e.details for e in run_slice(world.context, part, nothing) if e.status == "refused"]
    repair(world.context, pending_repairs(world.context))
    world.assert_exact("q")
    [person] = [row["_seq"] for row in world.bronze("a") if row["x"] == PERSON]
    assert person in remembered(world, 0)
    assert person in {numbers[0] for numbers in world.gold("q")}

    found, left, entries = forget(world.context, Person("a", {"x": str(PERSON)}))
    assert (found.tuples, left) == (1, [])
    assert not [entry.details for entry in entries if entry.status == "refused"]
    assert person not in remembered(world, 0)
    assert remembered(world, 1), "what others left is still remembered"
    assert world.assert_exact("q") > 0
    assert person not in {numbers[0] for numbers in world.gold("q")}
    staged = (world.root / "warehouse" / "staging").rglob("*.parquet")
    tables = [pq.read_table(path) for path in staged]
    assert all(PERSON not in table["x"].to_pylist() for table in tables if "x" in table.column_names)


def test_results_of_a_key_whose_tuples_are_pruned_go_where_they_tell_it(tmp_path: Path, spark: SparkSession) -> None:
    world = JoinWorld(tmp_path / "w", 20, {"a": "int", "b": "int"}, spark)
    world.write_query("q", QUERY.replace("MEMORY 4 ROWS, SHED BY oldest", "MEMORY 100 ROWS"))
    land(world)
    run_slice(world.context, slices()[0], nothing)
    before = world.gold("q")
    bronze = world.context.catalog.bronze("a")
    DeltaTable(bronze).delete(f"x = {PERSON}")  # as retention would have
    forget(world.context, Person("a", {"x": str(PERSON)}))
    after = world.gold("q")
    assert {row["x"] for row in before.values()} == {row["x"] for row in after.values()} | {PERSON}
    assert {numbers: row for numbers, row in before.items() if row["x"] != PERSON} == after
