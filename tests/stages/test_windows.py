"""Windows from panes through real Spark and Delta, against a recomputation from the raw tuples."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from panelake import tables
from panelake.context import Context
from panelake.dirty import DirtyRange, DirtySet
from panelake.errors import GateRefusedError
from panelake.flow import stage_named
from panelake.ledger import Entry
from panelake.runner import run_stage
from panelake.slices import Slice, to_datetime
from panelake.workspace import load_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SECOND = 1_000_000
MINUTE = 60 * SECOND
SCHEMA = pa.schema(
    [("area", pa.int32()), ("speed", pa.float64()), ("name", pa.string()), ("ts", pa.timestamp("us", tz="UTC"))]
)
STREAMS = """\
slice: 1 minute
streams:
  s:
    schema: {area: int, speed: double, name: string, ts: timestamp}
    event_time: ts
    source: {format: parquet, path: landing}
    lateness: 1 hour
"""
BRONZE = pa.schema([*SCHEMA, ("_seq", pa.int64()), ("_slice", pa.timestamp("us", tz="UTC")), ("_date", pa.date32())])
Tuple = dict[str, Any]


def tuple_at(second: float, area: int | None = 1, speed: float | None = 1.0, name: str | None = "a") -> Tuple:
    return {"area": area, "speed": speed, "name": name, "ts": round(second * SECOND)}


class World:
    """A workspace in a folder, whose stages are called one by one."""

    def __init__(self, root: Path, spark: SparkSession, **queries: str) -> None:
        self.root = root
        (root / "queries").mkdir(parents=True)
        (root / "streams.yaml").write_text(STREAMS)
        for name, text in queries.items():
            (root / "queries" / f"{name}.sql").write_text(text)
        self.spark = spark
        self.tuples: list[Tuple] = []
        self.numbered = 0
        self.reload()

    def reload(self) -> None:
        """Read the workspace again, on the one session of all worlds."""
        self.context = Context(load_workspace(self.root))
        vars(self.context)["spark"] = self.spark

    def ingest(self, minute: int, tuples: list[Tuple], first: int) -> None:
        """Put tuples into bronze and the ledger as the slice's, numbered in the order of time from `first` on."""
        part = minute_slice(minute)
        ordered = sorted(tuples, key=lambda row: row["ts"])
        start = to_datetime(part.start)
        stamped = [
            {**row, "_seq": first + at, "_slice": start, "_date": start.date()} for at, row in enumerate(ordered)
        ]
        self.append(minute, pa.Table.from_pylist(stamped, schema=BRONZE), first)

    def append(self, minute: int, tuples: pa.Table, first: int) -> None:
        """Numbered tuples into bronze, and the slice's entry into the ledger."""
        part = minute_slice(minute)
        start, missing = to_datetime(part.start), [name for name in BRONZE.names if name not in tuples.column_names]
        values = {"_slice": start, "_date": start.date()}
        for name in missing:
            kind = BRONZE.field(name).type
            tuples = tuples.append_column(name, pa.repeat(pa.scalar(values.get(name), kind), len(tuples)))
        address = self.context.catalog.bronze("s")
        tables.create(address, BRONZE, partition_by=["_date"])
        write_deltalake(address, tuples.select(BRONZE.names), mode="append")
        earliest = pc.min(tuples["ts"].cast(pa.int64())).as_py()
        late = earliest if earliest is not None and earliest < part.start else None
        details = {"first": first, "accepted": len(tuples), "late_from": late}
        self.context.ledger.record([Entry(part, "ingest", "s", "done", len(tuples), details=details)])

    def run(self, minute: int, tuples: list[Tuple] | None = None, first: int | None = None) -> dict[str, Entry]:
        """The slice's own of all tuples, or those given, through panes and windows."""
        part = minute_slice(minute)
        mine = [row for row in self.tuples if part.start <= row["ts"] < part.end] if tuples is None else tuples
        self.ingest(minute, mine, self.numbered if first is None else first)
        self.numbered += len(mine) if first is None else 0
        self.stage("panes", minute)
        return {entry.subject: entry for entry in self.stage("windows", minute)}

    def stage(self, name: str, minute: int) -> list[Entry]:
        return run_stage(self.context, minute_slice(minute), stage_named(name))

    def answered(self, minute: int) -> None:
        """Enter the slice as published, so that later slices restate it."""
        names = self.context.workspace.queries
        self.context.ledger.record([Entry(minute_slice(minute), "publish", name, "done", 0) for name in names])

    def rows(self, query: str, minute: int) -> list[Tuple]:
        return self.staged(query, minute_slice(minute))

    def staged(self, query: str, part: Slice) -> list[Tuple]:
        folder = Path(self.context.catalog.staging("s", part)) / f"_query={query}"
        if not folder.is_dir():
            return []
        table = pq.ParquetDataset(folder).read()
        names = [name.removeprefix(f"{query}/") for name in table.column_names]
        wanted = [index for index, name in enumerate(names) if "/" not in name]
        return table.select(wanted).rename_columns([names[index] for index in wanted]).to_pylist()


def minute_slice(minute: int) -> Slice:
    return Slice(minute * MINUTE, (minute + 1) * MINUTE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("windows")


def expected_counts(tuples: list[Tuple], range_s: int, slide_s: int, ends: range) -> dict[tuple[int, Any], int]:
    counts: dict[tuple[int, Any], int] = defaultdict(int)
    for end in ends:
        if end % (slide_s * SECOND) == 0:
            for row in tuples:
                if end - range_s * SECOND <= row["ts"] < end:
                    counts[(end, row["area"])] += 1
    return dict(counts)


def counted(rows: list[Tuple]) -> dict[tuple[int, Any], int]:
    found = {(row["_window_end"], row["area"]): row["n"] for row in rows}
    assert len(found) == len(rows), "a window has two rows of one group"
    return found


def ends_at_seconds(minutes: range) -> range:
    return range(minutes.start * MINUTE + SECOND, minutes.stop * MINUTE + 1, SECOND)


COUNT = "SELECT area, count(*) AS n FROM s [RANGE {} SECONDS SLIDE {} SECONDS] GROUP BY area"


def test_windows_that_no_slice_length_divides_are_answered_once_each(folder: Path, spark: SparkSession) -> None:
    """Overlapping, tumbling and gapped windows over slices of a minute, a NULL key among the groups."""
    shapes = {"overlapping": (100, 35), "tumbling": (50, 50), "gapped": (7, 45)}
    world = World(folder / "shapes", spark, **{name: COUNT.format(*shape) for name, shape in shapes.items()})
    tuples = [tuple_at(at * 3.7, area=[1, 2, None][at % 3]) for at in range(65)]
    world.tuples = tuples
    found: dict[str, list[Tuple]] = {name: [] for name in shapes}
    for minute in range(4):
        world.run(minute)
        world.answered(minute)
        for name in shapes:
            found[name] += world.rows(name, minute)
    for name, (range_s, slide_s) in shapes.items():
        assert counted(found[name]) == expected_counts(tuples, range_s, slide_s, ends_at_seconds(range(4)))


def test_every_aggregate_equals_sql_over_the_raw_tuples(folder: Path, spark: SparkSession) -> None:
    select = (
        "SELECT count(*) AS n, count(speed) AS known, sum(speed) AS total, min(speed) AS least, max(name) AS last,"
        " avg(speed) AS mean, var_samp(speed) AS spread, stddev_samp(speed) AS deviation,"
        " sum(area * 2) AS twice, max(speed) - min(speed) AS width"
        " FROM s [RANGE 30 SECONDS SLIDE 20 SECONDS] WHERE name <> 'x' HAVING count(*) > 1"
    )
    world = World(folder / "aggregates", spark, q=select)
    tuples = [
        tuple_at(at, area=at, speed=None if at % 5 == 0 else at / 3, name=["a", "x", None, "ü"][at % 4])
        for at in range(0, 60, 2)
    ]
    world.tuples = tuples
    world.run(0)
    got = {row["_window_end"]: row for row in world.rows("q", 0)}
    for end in range(20, 61, 20):
        held = [row for row in tuples if end - 30 <= row["ts"] / SECOND < end and row["name"] not in ("x", None)]
        speeds = [row["speed"] for row in held if row["speed"] is not None]
        row = got[end * SECOND]
        assert (row["n"], row["known"], row["last"]) == (len(held), len(speeds), max(r["name"] for r in held))
        assert (row["least"], row["twice"]) == (min(speeds), sum(r["area"] * 2 for r in held))
        assert row["width"] == max(speeds) - min(speeds)
        mean = math.fsum(speeds) / len(speeds)
        variance = math.fsum((speed - mean) ** 2 for speed in speeds) / (len(speeds) - 1)
        assert row["total"] == pytest.approx(math.fsum(speeds), abs=1e-12 * math.fsum(speeds))
        assert (row["mean"], row["spread"]) == (pytest.approx(mean), pytest.approx(variance))
        assert row["deviation"] == pytest.approx(math.sqrt(variance))
    assert len(got) == 3


def test_having_drops_windows_and_a_window_without_tuples_has_no_row(folder: Path, spark: SparkSession) -> None:
    query = (
        "SELECT count(*) AS n, sum(speed) AS t FROM s [RANGE 10 SECONDS SLIDE 10 SECONDS] WHERE speed > 0 HAVING t > 1"
    )
    world = World(folder / "having", spark, q=query)
    world.tuples = [tuple_at(1), tuple_at(11), tuple_at(12), tuple_at(21, speed=-5.0)]
    entries = world.run(0)
    assert [(row["_window_end"], row["n"]) for row in world.rows("q", 0)] == [(20 * SECOND, 2)]
    assert (entries["q"].rows, entries["q"].details["due"]) == (1, 6)


def test_late_tuples_restate_every_answered_window_that_holds_them(folder: Path, spark: SparkSession) -> None:
    """
    minute       0         1          2
    area 1, 3    *    *    *    *     *
    late, with minute 2: area 1 at second 5, area 2 at second 95
    90 s / 30 s: windows that end at 30, 60, 90 hold the one, at 120, 150, 180 the other; 150 and 180 are due anyhow
    """
    limited = f"{COUNT.format(60, 60)} HAVING count(*) < 8"
    world = World(folder / "late", spark, q=COUNT.format(90, 30), limited=limited)
    on_time = [tuple_at(at, area=area) for at in range(0, 180, 9) for area in (1, 3)]
    world.tuples = on_time
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    late = [tuple_at(5), tuple_at(95, area=2)]
    entries = world.run(2, [row for row in on_time if row["ts"] >= 120 * SECOND] + late)
    everything = expected_counts([*on_time, *late], 90, 30, ends_at_seconds(range(3)))
    restated = {(30, 1), (60, 1), (90, 1), (120, 2)}
    due = {place for place in everything if place[0] > 120 * SECOND} | {(end * SECOND, area) for end, area in restated}
    assert counted(world.rows("q", 2)) == {place: n for place, n in everything.items() if place in due}
    details = entries["q"].details
    assert (details["ends"], entries["q"].rows) == ([150 * SECOND, 180 * SECOND], len(due))
    assert details["restated"] == [[30 * SECOND, 120 * SECOND]]
    kept = {(row["_window_end"], row["area"]): row["_kept"] for row in world.rows("limited", 2)}
    of_60 = expected_counts([*on_time, *late], 60, 60, ends_at_seconds(range(3)))
    assert of_60[(60 * SECOND, 1)] == 8, "HAVING drops what it kept before: the row is staged as gone"
    assert kept == {(60 * SECOND, 1): False, (120 * SECOND, 2): True, (180 * SECOND, 1): True, (180 * SECOND, 3): True}
    assert entries["limited"].rows == 3


def test_a_far_away_late_tuple_reads_and_restates_its_own_windows_alone(folder: Path, spark: SparkSession) -> None:
    """Ten minutes between two late tuples of different areas: nothing in between is answered again."""
    world = World(folder / "far", spark, q=COUNT.format(60, 30))
    world.tuples = [tuple_at(at, area=at % 2) for at in range(0, 720, 7)]
    for minute in range(11):
        world.ingest(minute, [row for row in world.tuples if row["ts"] // MINUTE == minute], minute * 1000)
        world.answered(minute)
    late = [tuple_at(10, area=0), tuple_at(640, area=1)]
    entries = world.run(11, [row for row in world.tuples if row["ts"] >= 660 * SECOND] + late, first=99_000)
    everything = expected_counts([*world.tuples, *late], 60, 30, ends_at_seconds(range(12)))
    restated = {(30, 0), (60, 0), (660, 1)}
    due = {place for place in everything if place[0] > 660 * SECOND} | {(end * SECOND, area) for end, area in restated}
    assert counted(world.rows("q", 11)) == {place: everything[place] for place in due}
    assert entries["q"].details["restated"] == [[30 * SECOND, 60 * SECOND], [660 * SECOND, 660 * SECOND]]


def test_an_older_slice_after_a_newer_one_completes_the_newer_windows(folder: Path, spark: SparkSession) -> None:
    world = World(folder / "older", spark, q=COUNT.format(90, 30))
    tuples = [tuple_at(at) for at in range(0, 180, 9)]
    world.tuples = tuples
    for minute in (1, 2):
        world.run(minute)
        world.answered(minute)
    world.run(0)
    got = counted(world.rows("q", 0))
    everything = expected_counts(tuples, 90, 30, ends_at_seconds(range(3)))
    last_reached = 54 + 90
    assert got == {place: n for place, n in everything.items() if place[0] <= last_reached * SECOND}


def test_windows_of_tuples_that_went_are_answered_for_every_group(folder: Path, spark: SparkSession) -> None:
    """
    minute   0 (ingested anew: area 2 and what it had late are there no more)   1
    Windows of minute 1 that reach back must lose area 2, though no tuple of it is left to say so.
    """
    world = World(folder / "gone", spark, q=COUNT.format(90, 30))
    world.tuples = [tuple_at(at, area=area) for at in range(0, 120, 10) for area in (1, 2)]
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    left = [row for row in world.tuples if row["ts"] >= MINUTE or row["area"] == 1]
    DeltaTable(world.context.catalog.bronze("s")).delete("area = 2 AND ts < '1970-01-01T00:01:00Z'")
    known = DirtyRange(minute_slice(0), -MINUTE, MINUTE, "restated", 6)
    DirtySet(world.context.catalog).mark("s", minute_slice(0), [known])
    world.stage("panes", 0)
    (entry, _) = world.stage("windows", 0)
    everything = expected_counts(left, 90, 30, ends_at_seconds(range(2)))
    assert counted(world.rows("q", 0)) == everything
    assert entry.details["ends"] == [-30 * SECOND, 120 * SECOND]
    assert "restated" not in entry.details


def test_sixty_queries_are_answered_in_one_job(folder: Path, spark: SparkSession) -> None:
    """As many conditions as queries: they may not make an expression too deep to send."""
    select = "SELECT area, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 20 SECONDS] WHERE speed > {} GROUP BY area"
    queries = {f"q{at}": f"{select.format(at)} HAVING count(*) > {at % 2}" for at in range(60)}
    world = World(folder / "sixty", spark, **queries)
    world.tuples = [tuple_at(at, speed=float(at)) for at in range(0, 60, 2)]
    world.run(0)
    for at in range(60):
        expected = {
            (end * SECOND, 1): n
            for end in (20, 40, 60)
            if (n := sum(end - 20 <= second < end and second > at for second in range(0, 60, 2))) > at % 2
        }
        assert counted(world.rows(f"q{at}", 0)) == expected, at


def test_an_overflowing_sum_refuses_the_slice(folder: Path, spark: SparkSession) -> None:
    query = "SELECT sum(CAST(speed AS BIGINT) * 1000000000) AS t FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS]"
    world = World(folder / "overflow", spark, q=query)
    world.tuples = [tuple_at(1, speed=9e9), tuple_at(11, speed=9e9)]
    with pytest.raises(GateRefusedError, match="a sum overflows its type in 1 windows"):
        world.run(0)


def test_windows_of_rows_are_answered_when_complete_in_whatever_order_slices_come(
    folder: Path, spark: SparkSession
) -> None:
    """
    minute      1        2        0 (history: numbers count down)
    numbers     0 … 20   21 … 40  -20 … -1
    Each window is answered by the slice that completes it; numbers follow event time within a slice.
    """
    shapes = {"overlapping": (15, 4), "tumbling": (6, 6), "gapped": (3, 8), "coprime": (13, 7)}
    select = "SELECT area, count(*) AS n, sum(speed) AS total FROM s [RANGE {} SLIDE {} WATTR ROW] GROUP BY area"
    world = World(folder / "rows", spark, **{name: select.format(*shape) for name, shape in shapes.items()})
    tuples = [tuple_at(at * 3, area=at % 2, speed=float(at)) for at in range(61)]
    world.tuples = tuples
    found: dict[str, dict[tuple[int, int], tuple[int, float]]] = {name: {} for name in shapes}
    for minute in (1, 2, 0):
        world.run(minute, first=-20 if minute == 0 else None)
        world.answered(minute)
        for name in shapes:
            for row in world.rows(name, minute):
                found[name][(row["_window_end"], row["area"])] = (row["n"], row["total"])
    numbered = dict(zip(range(-20, 40), tuples, strict=False))
    for name, (range_, slide) in shapes.items():
        expected: dict[tuple[int, int], list[float]] = defaultdict(list)
        for start in range(-100 * slide, 100 * slide, slide):
            held = range(start, start + range_)
            if held.start in numbered and held[-1] in numbered:
                for number in held:
                    expected[(held.stop, numbered[number]["area"])].append(numbered[number]["speed"])
        assert found[name] == {place: (len(speeds), sum(speeds)) for place, speeds in expected.items()}


def test_sketches_are_merged_over_the_panes_of_a_window(folder: Path, spark: SparkSession) -> None:
    select = "approx_count_distinct(name) AS names, approx_percentile(speed, 0.5) AS middle, count(*) AS n"
    world = World(
        folder / "sketches",
        spark,
        timed=f"SELECT area, {select} {'FROM'} s [RANGE 40 SECONDS SLIDE 20 SECONDS] GROUP BY area",
        rows=f"SELECT {select} {'FROM'} s [RANGE 20 SLIDE 10 WATTR ROW]",
    )
    tuples = [tuple_at(at, area=None if at % 2 else 7, speed=float(at), name=f"n{at % 6}") for at in range(60)]
    world.tuples = tuples
    world.run(0)
    timed = {(row["_window_end"] // SECOND, row["area"]): row for row in world.rows("timed", 0)}
    assert {place: (row["names"], row["n"]) for place, row in timed.items()} == {
        (end, area): (3, n) for end, n in ((20, 10), (40, 20), (60, 20)) for area in (7, None)
    }
    assert abs(timed[(60, 7)]["middle"] - 39) <= 2
    rows = {row["_window_start"]: row for row in world.rows("rows", 0)}
    assert {start: (row["names"], row["n"]) for start, row in rows.items()} == dict.fromkeys(range(0, 50, 10), (6, 20))


def test_a_new_state_is_never_read_from_panes_that_lack_it(folder: Path, spark: SparkSession) -> None:
    """The set's name stays, a column is added: older panes have no value for it, and are made anew from bronze."""
    world = World(folder / "states", spark, q=COUNT.format(180, 60))
    world.tuples = [tuple_at(at, speed=2.0) for at in range(0, 180, 10)]
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    more = "SELECT area, sum(speed) AS total FROM s [RANGE 180 SECONDS SLIDE 60 SECONDS] GROUP BY area"
    (world.root / "queries" / "more.sql").write_text(more)
    world.reload()
    world.run(2)
    assert [row["total"] for row in world.rows("more", 2)] == [36.0]
    assert [row["n"] for row in world.rows("q", 2)] == [18]


def test_a_finer_plan_never_mixes_with_the_panes_of_the_old_one(folder: Path, spark: SparkSession) -> None:
    world = World(folder / "finer", spark, q=COUNT.format(180, 60))
    world.tuples = [tuple_at(at) for at in range(0, 180, 10)]
    for minute in range(2):
        world.run(minute)
        world.answered(minute)
    (world.root / "queries" / "fine.sql").write_text(COUNT.format(90, 45))
    world.reload()
    world.run(2)
    assert [row["n"] for row in world.rows("q", 2)] == [18]
    assert counted(world.rows("fine", 2)) == {(135 * SECOND, 1): 9, (180 * SECOND, 1): 9}


def test_panes_of_tuples_that_were_ingested_anew_are_not_used(folder: Path, spark: SparkSession) -> None:
    """Renumbered: the ledger shows other numbers than the slice's panes were made of."""
    query = "SELECT min(speed) AS least FROM s [RANGE 4 SLIDE 4 WATTR ROW]"
    world = World(folder / "renumbered", spark, q=query)
    world.run(0, [tuple_at(at, speed=float(at)) for at in range(4)], first=2)
    bronze = DeltaTable(world.context.catalog.bronze("s"))
    bronze.update({"_seq": "_seq + 2"})
    world.context.ledger.record(
        [Entry(minute_slice(0), "ingest", "s", "done", 4, details={"first": 4, "accepted": 4, "late_from": None})]
    )
    world.run(1, [tuple_at(60 + at, speed=9.0) for at in range(4)], first=0)
    assert [(row["_window_start"], row["least"]) for row in world.rows("q", 1)] == [(0, 9.0)]
    world.stage("windows", 0)
    assert [(row["_window_start"], row["least"]) for row in world.rows("q", 0)] == [(4, 0.0)]


def test_a_longer_slice_over_ingested_ones_answers_all_their_windows(folder: Path, spark: SparkSession) -> None:
    rows = "SELECT area, count(*) AS n FROM s [RANGE 5 SLIDE 5 WATTR ROW] GROUP BY area"
    world = World(folder / "longer", spark, q=COUNT.format(90, 30), rows=rows)
    tuples = [tuple_at(at) for at in range(0, 120, 9)]
    for minute in range(2):
        mine = [row for row in tuples if row["ts"] // MINUTE == minute]
        world.ingest(minute, mine, world.numbered)
        world.numbered += len(mine)
    both = Slice(0, 2 * MINUTE)
    details = {"first": 0, "accepted": len(tuples), "late_from": None, "slices": 2}
    world.context.ledger.record([Entry(both, "ingest", "s", "done", len(tuples), details=details)])
    for name in ("panes", "windows"):
        run_stage(world.context, both, stage_named(name))
    assert counted(world.staged("q", both)) == expected_counts(tuples, 90, 30, ends_at_seconds(range(2)))
    assert [row["n"] for row in world.staged("rows", both)] == [5, 5]
    held = world.context.ledger.entries(stage="panes", subject="s")
    assert [entry.slice for entry in held] == [minute_slice(0), both, minute_slice(1)]


def test_a_long_sum_of_doubles_is_within_the_bound(folder: Path, spark: SparkSession) -> None:
    """0.1 a million times: a plain sum is off by thirteen times what is allowed."""
    count = 1_000_000
    query = "SELECT sum(speed) AS total, avg(speed) AS mean FROM s [RANGE 60 SECONDS SLIDE 60 SECONDS]"
    world = World(folder / "long", spark, q=query)
    times = pa.array(range(0, count * 50, 50), pa.timestamp("us", tz="UTC"))
    columns = {"speed": pa.array([0.1] * count), "ts": times, "_seq": pa.array(range(count))}
    world.append(0, pa.table(columns), first=0)
    for name in ("panes", "windows"):
        world.stage(name, 0)
    (row,) = world.rows("q", 0)
    true = float(Fraction(0.1) * count)
    assert abs(row["total"] - true) <= 1e-12 * true
    assert row["mean"] == pytest.approx(0.1, rel=1e-12)
