"""Six real filters, written worst first, over a stream in tenths: as written, at best, learned cold, remembered.

The ways take turns tenth by tenth, so that they meet the same machine. Each tenth is one pass that counts tuples by the
filter that drops them, as ingest makes it; learning takes its sample in that pass. All is warmed up by a tenth before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from panelake.benchmarks.peers import duckdb_connection
from panelake.benchmarks.targets import Target, at_least, at_most
from panelake.benchmarks.timing import Spent, rounded, spent
from panelake.filters.statistics import resume
from panelake.language.stream_filters import StreamFilter, lower_filter
from panelake.slices import Slice
from panelake.sources.source import POSITION
from panelake.stages.filtering import DROPPED, OUTCOME, Filtering, as_written, due, probed

PARTS = 10
GAIN, LEAST_GAIN = "gap closed after the first tenth", 0.8
MOST_COSTS = {"remembered, above best": 0.03, "cold, above best": 0.15}
TYPES = {"text": "string", "doc": "string", "code": "string", "number": "int", "ts": "timestamp"}
SOURCE = """
import pyarrow as pa

def checksum(text):
    return pa.array([None if one is None else sum(one.encode()) % 10 > 0 for one in text.to_pylist()], pa.bool_())
"""
_CODES = ", ".join(f"'c{number}'" for number in range(0, 1_000, 5))
# Python, JSON, string functions, regular expression, hash set, range: from dear and idle to cheap and strict.
SQL = (
    "get_json_object(doc, '$.device.kind') <> 'tv'",
    "length(replace(upper(text), '1', '')) > 38",
    "text RLIKE 'page/[0-9]*[02468] from'",
    f"code IN ({_CODES})",
    "number BETWEEN 1000 AND 5999",
)
LEARNING = ("cold", "remembered")
BEST = (5, 4, 3, 2, 1, 0)
_SLICE = Slice(0, 1)
_DRAWS = {"user": 100_000, "page": 1_000, "net": 256, "kind": 5, "code": 1_000, "number": 100_000}


def filters() -> tuple[StreamFilter, ...]:
    """The filters as a stream declares them."""
    python = StreamFilter("checksum()", "", "checksum", ("text",), "0", commutative=True)
    return (python, *(StreamFilter(text, lower_filter("log", TYPES, text)) for text in SQL))


def make(spark: SparkSession, root: Path, tuples: int) -> Path:
    """A log of page visits, written by Spark unless it is there from before."""
    folder = root / f"log-{tuples}"
    if not (folder / "_SUCCESS").exists():
        draws = {name: f"pmod(xxhash64(id, {seed}), {size})" for seed, (name, size) in enumerate(_DRAWS.items())}
        frame = spark.range(0, tuples, 1, PARTS).selectExpr("id", *(f"{sql} AS {name}" for name, sql in draws.items()))
        frame.selectExpr(
            "concat('user-', user, ' visited /page/', page, ' from 10.', net, '.', net, '.1') AS text",
            """concat('{"id":', user, ',"device":{"kind":"', element_at(array('phone', 'desk', 'tv', 'pad', 'car'),"""
            """ cast(kind AS int) + 1), '"},"net":', net, '}') AS doc""",
            "concat('c', code) AS code",
            "cast(number AS int) AS number",
            "timestamp_micros(id * 1000) AS ts",
            f"id AS {POSITION}",
            f"cast(id * {PARTS} DIV {tuples} AS int) AS part",
        ).write.mode("overwrite").parquet(str(folder))
    return folder


class _Runs:
    """Times parts of the stream and checks that every way keeps the same number of tuples."""

    def __init__(self, tuples: DataFrame, count: int) -> None:
        self._tuples, self._count = tuples, count
        self.kept: dict[int, set[int]] = {part: set() for part in range(PARTS)}

    def part(self, number: int) -> DataFrame:
        return self._tuples.where(F.col("part") == number)

    def timed(self, way: Filtering, number: int, *, probing: bool = False) -> tuple[Spent, Filtering, list[Row]]:
        """What one part took, the way it was done, and its counts."""
        done: list[tuple[Filtering, list[Row]]] = []
        took = spent(lambda: done.append(self._counted(way, number, probing=probing)))
        ((used, rows),) = done
        self.kept[number].add(sum(row["count"] for row in rows if row[DROPPED] is None))
        return took, used, rows

    def _counted(self, way: Filtering, number: int, *, probing: bool) -> tuple[Filtering, list[Row]]:
        """Tuples of a part by the filter that drops them, as ingest counts them, after probing if it is due."""
        way = probed(way, self.part(number)) if probing else way
        everyone = F.lit(True)  # noqa: FBT003 - Spark's signature
        outcome = way.outcome(everyone)
        keys = [F.col(DROPPED)] if outcome is None else [F.col(DROPPED), outcome.alias(OUTCOME)]
        return way, way.judged(self.part(number), everyone).groupBy(*keys).count().collect()

    def run(self, name: str, way: Filtering, number: int) -> tuple[Spent, Filtering]:
        """One part of one way, and the way for the next part."""
        return self.learning(way, number) if name in LEARNING else self.timed(way, number)[:2]

    def learning(self, way: Filtering, number: int) -> tuple[Spent, Filtering]:
        """What a part took that is learned from, and the way for the next."""
        tuples = self._count // PARTS
        way = due(way, way.idle or 0.0, tuples if way.before.samples else 0)
        took, way, rows = self.timed(way, number, probing=True)
        learned = way.learned(_SLICE, "log", tuples, *told(rows))
        after = resume(learned.after, way.chain)
        return took, replace(way, before=after, used=after.order, idle=learned.idle)


def told(rows: list[Row]) -> tuple[Counter[int], Counter[str]]:
    """The sample's outcomes, and how many tuples each filter dropped."""
    sample, dropped = Counter[int](), Counter[str]()
    for row in rows:
        if OUTCOME in row and row[OUTCOME] is not None:
            sample[row[OUTCOME]] += row["count"]
        if row[DROPPED] is not None:
            dropped[row[DROPPED]] += row["count"]
    return sample, dropped


def compare(spark: SparkSession, folder: Path, tuples: int) -> dict[str, Any]:
    """Seconds of every way by part, what share of the gap learning closes, what it costs, DuckDB beside it."""
    files = make(spark, folder, tuples)
    runs = _Runs(spark.read.parquet(str(files)), tuples)
    written = as_written(filters(), TYPES, "ts", SOURCE)
    runs.timed(written, 0)
    remembered = _remembered(runs, written)
    best = _quickest(runs, [replace(written, used=order) for order in (BEST, remembered.used)])
    ways = {"written": written, "best": best, "cold": written, "remembered": remembered}
    took: dict[str, list[Spent]] = {name: [] for name in ways}
    orders = []
    for number in range(PARTS):
        for name in in_turn(list(ways), number):
            once, ways[name] = runs.run(name, ways[name], number)
            took[name].append(once)
        orders.append(list(ways["cold"].used))
    if any(len(kept) != 1 for kept in runs.kept.values()):
        raise AssertionError(f"ways kept different tuples: {runs.kept}")
    return results(took, orders, duckdb_seconds(files), tuples) | {"order taken for best": list(best.used)}


def in_turn(names: list[str], by: int) -> list[str]:
    """Another order each time: in four turns each comes after each other, as the slowest leaves the machine busy."""
    return [names[(place + by) % len(names)] for place in (0, 1, 3, 2)]


def _quickest(runs: _Runs, ways: list[Filtering]) -> Filtering:
    """The better of fixed orders: what learning costs shows only beside an order no worse than the learned one."""
    for way in ways:
        runs.timed(way, 0)
    turns = [[runs.timed(way, number)[0].seconds for way in ways] for number in range(PARTS // 2)]
    return ways[int(np.argmin(np.sum(turns, axis=0)))]


def _remembered(runs: _Runs, written: Filtering) -> Filtering:
    """What a run over the stream's last parts leaves behind."""
    way = written
    for number in (PARTS - 2, PARTS - 1):
        _, way = runs.learning(way, number)
    return way


def results(
    took: dict[str, list[Spent]], orders: list[list[int]], duckdb: dict[str, float], tuples: int
) -> dict[str, Any]:
    """Ratios by the clock and by processor time, which a busy machine hardly changes; targets are by the clock."""
    seconds = {name: [one.seconds for one in parts] for name, parts in took.items()}
    processor = {name: [one.processor for one in parts] for name, parts in took.items()}
    figures = ratios(seconds)
    total = {name: sum(parts) for name, parts in seconds.items()}
    return {
        "tuples": tuples,
        "seconds": rounded(total | {f"duckdb {name}": value for name, value in duckdb.items()}),
        "processor seconds": rounded({name: sum(parts) for name, parts in processor.items()}),
        "seconds by tenth": {name: [float(f"{value:.3g}") for value in parts] for name, parts in seconds.items()},
        "orders learned": orders,
        "ratios": rounded(figures),
        "ratios by processor time": rounded(ratios(processor)) if all(map(all, processor.values())) else None,
        "targets": targets(figures),
    }


def targets(figures: dict[str, float]) -> list[Target]:
    """What learning was to bring, and what it may cost."""
    return [at_least(GAIN, figures[GAIN], LEAST_GAIN)] + [
        at_most(name, figures[name], limit) for name, limit in MOST_COSTS.items()
    ]


def ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """What share of the gap between written and best is closed, and what learning costs above best."""
    total = {name: sum(parts) for name, parts in seconds.items()}
    first, later = ({name: sum(parts[cut]) for name, parts in seconds.items()} for cut in (slice(1), slice(1, None)))
    return {
        GAIN: _closed(later),
        "gap closed in the first tenth, learning included": _closed(first),
        "remembered, above best": total["remembered"] / total["best"] - 1,
        "cold, above best": total["cold"] / total["best"] - 1,
        "written / best": total["written"] / total["best"],
    }


def _closed(seconds: dict[str, float]) -> float:
    return (seconds["written"] - seconds["cold"]) / (seconds["written"] - seconds["best"])


def duckdb_seconds(files: Path) -> dict[str, float]:
    """DuckDB, which reorders conjunctions by itself, with the filters written worst first and best first."""
    connection = duckdb_connection()
    names: dict[str, Any] = {}
    exec(SOURCE, names)  # noqa: S102 - the text above
    connection.create_function("checksum", names["checksum"], ["VARCHAR"], "BOOLEAN", type="arrow")
    own = [
        "checksum(text)",
        "json_extract_string(doc, '$.device.kind') <> 'tv'",
        SQL[1],
        "regexp_matches(text, 'page/[0-9]*[02468] from')",
        *SQL[3:],
    ]
    found = {}
    for name, order in (("written", range(len(own))), ("best", BEST)):
        where = " AND ".join(own[number] for number in order)
        began = perf_counter()
        connection.execute(f"SELECT count(*) FROM read_parquet('{files}/*.parquet') WHERE {where}").fetchall()  # noqa: S608
        found[name] = perf_counter() - began
    return found
