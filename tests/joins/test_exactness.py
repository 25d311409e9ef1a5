"""Random worlds through the pipeline: gold of joins against brute force on the tuples that bronze holds.

Late tuples, history before the first slice, an older slice after a newer one, slices run again, keys of every kind,
windows with gaps and of different ranges, every period that divides the slide. Seeds are fixed. PANELAKE_JOIN_WORLDS
asks for more worlds than a test run needs.
"""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from panelake.slices import Slice

from .join_world import SECOND, JoinWorld, Tuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
WORLDS = int(os.environ.get("PANELAKE_JOIN_WORLDS", "4"))
KINDS: dict[str, Any] = {
    "int": lambda n: n,
    "bigint": lambda n: n,
    "string": lambda n: f"key {n}",
    "date": lambda n: date(2026, 1, 1) + timedelta(days=n),
    "decimal(9,2)": lambda n: Decimal(n) / 4,
}


def drawn(rng: random.Random, kind: str, part: Slice, count: int) -> list[Tuple]:
    return [
        {
            "k": rng.choice([None, *(KINDS[kind](n) for n in range(3))]) if rng.random() < 0.9 else None,
            "g": rng.choice([None, 1, 2]),
            "x": rng.randint(0, 9),
            "ts": rng.randrange(part.start, part.end),
        }
        for _ in range(count)
    ]


def query_text(rng: random.Random, streams: list[str]) -> str:
    slide = rng.choice([7, 12, 30])
    every = rng.choice([one for one in (1, 2, 3, 4, 6, 7, 12, 15, 30) if slide % one == 0])
    tables = ", ".join(f"{s} [RANGE {rng.randint(3, 60)} SECONDS SLIDE {slide} SECONDS]" for s in streams)
    first, *others = streams
    where = " AND ".join(f"{first}.k = {other}.k" for other in others)
    if rng.random() < 0.5:
        where += "".join(f" AND {first}.g = {other}.g" for other in others)
    columns = ", ".join(f"{s}.x AS x_{s}" for s in streams)
    return f"SELECT {first}.k, {columns} {'FROM'} {tables} WHERE {where} WITH (EVERY {every} SECONDS)"


def live(world: JoinWorld, rng: random.Random, slices: list[Slice]) -> None:
    """Two slices forwards, late tuples with the second; then history, a third, and one of them again."""
    older, first, second, third = slices
    counts = {2: 14, 3: 9}[len(world.keys)]
    for stream, kind in world.keys.items():
        for part in slices:
            world.land(stream, drawn(rng, kind, part, rng.randint(0, counts)))
    world.run(first)
    for stream, kind in world.keys.items():
        world.land(stream, drawn(rng, kind, first, rng.randint(0, 4)))
    world.run(second)
    for part in rng.sample([older, third], 2):
        world.run(part)
    world.run(rng.choice(slices))


def check_world(seed: int, root: Path, spark: SparkSession) -> int:
    rng = random.Random(seed)  # noqa: S311 - a seed, not a secret
    kind = rng.choice(sorted(KINDS))
    world = JoinWorld(root, rng.randint(20, 50), dict.fromkeys("abc"[: rng.choice([2, 2, 3])], kind), spark)
    world.write_query("q", query_text(rng, list(world.keys)))
    start = rng.randint(10, 1000) * world.length * SECOND
    length = world.length * SECOND
    live(world, rng, [Slice(start + at * length, start + (at + 1) * length) for at in range(4)])
    return world.assert_exact("q")


@pytest.mark.timeout(max(900, 120 * WORLDS))
def test_gold_of_random_worlds_is_what_the_language_says(tmp_path: Path, spark: SparkSession) -> None:
    with ThreadPoolExecutor(3) as pool:
        checks = [pool.submit(check_world, seed, tmp_path / str(seed), spark) for seed in range(WORLDS)]
    failures = [(seed, check.exception()) for seed, check in enumerate(checks) if check.exception() is not None]
    assert not failures, "\n".join(f"seed {seed}: {error!r}" for seed, error in failures)
    assert sum(check.result() for check in checks) > 5 * WORLDS, "worlds whose joins have results"
