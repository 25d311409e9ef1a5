"""`panelake run` as a user runs it: again, in any order, interrupted, refused."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.home import example_workspace
from panelake.slices import format_instant, parse_instant
from panelake.worlds.generate import generate

pytestmark = [pytest.mark.end_to_end, pytest.mark.usefixtures("spark_server"), pytest.mark.timeout(600)]

PANELAKE = str(Path(sys.executable).with_name("panelake"))
MINUTE = 60 * 1_000_000
START = parse_instant("2026-01-01T00:00:00Z")
# A suite that runs in the background may have inherited that SIGINT is ignored; a terminal's command has not.
AS_AT_A_TERMINAL = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)


def at(minutes: int) -> str:
    return format_instant(START + minutes * MINUTE)


def command(workspace: Path, *arguments: str) -> list[str]:
    return [PANELAKE, *arguments, "--workspace", str(workspace)]


def panelake(workspace: Path, *arguments: str, code: int = 0) -> Any:
    done = subprocess.run(
        [*command(workspace, *arguments), "--json"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def make_town(folder: Path, tuples: int = 30_000) -> Path:
    shutil.copytree(example_workspace("traffic"), folder, ignore=shutil.ignore_patterns("landing", "warehouse"))
    generate("traffic", tuples, 25.0, 7, START, folder / "landing" / "traffic", lambda _: None)
    return folder


def gold(workspace: Path) -> list[dict[str, Any]]:
    rows = DeltaTable(str(workspace / "warehouse" / "gold" / "speed_by_area")).to_pyarrow_table()
    return rows.sort_by([("window_end", "ascending"), ("area_id", "ascending")]).to_pylist()


def answers(workspace: Path) -> list[tuple[Any, ...]]:
    names = ("window_start", "window_end", "area_id", "cars", "slowest", "mean", "fastest")
    return [tuple(row[name] for name in names) for row in gold(workspace)]


def brute_force(workspace: Path, minutes: range) -> list[tuple[Any, ...]]:
    """speed_by_area of every window that ends in the range, from the raw tuples."""
    tuples = pq.read_table(workspace / "landing" / "traffic")
    tuples = tuples.filter(pc.is_valid(tuples["car_id"]))
    times = tuples["ts"].cast(pa.int64()).to_numpy()
    found = []
    for minute in minutes:
        low, high = START + (minute - 3) * MINUTE, START + minute * MINUTE
        inside = tuples.filter(pa.array((times >= low) & (times < high)))
        wanted = [("speed", name) for name in ("count", "min", "mean", "max")]
        grouped = inside.group_by("area_id").aggregate(wanted).sort_by("area_id").to_pylist()
        bounds = tuple(pa.scalar(bound, pa.timestamp("us", "UTC")).as_py() for bound in (low, high))
        found += [
            (*bounds, row["area_id"], row["speed_count"], row["speed_min"], row["speed_mean"], row["speed_max"])
            for row in grouped
        ]
    return found


def assert_exact(workspace: Path, minutes: range) -> None:
    expected = brute_force(workspace, minutes)
    found = answers(workspace)
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        assert one[:5] + one[6:] == other[:5] + other[6:]
        assert one[5] == pytest.approx(other[5], rel=1e-12)


def test_slices_in_any_order_and_again_give_the_brute_force_answers(tmp_path):
    """│ 5–10 first │ then 0–5 before it │ then 10–15 │ then all again."""
    town = make_town(tmp_path / "town")
    for first, last in ((5, 10), (0, 5), (10, 15)):
        panelake(town, "run", "--from", at(first), "--to", at(last))
    assert_exact(town, range(1, 16))
    before = gold(town)
    panelake(town, "run", "--from", at(0), "--to", at(15), "--again")
    assert gold(town) == before
    statuses = panelake(town, "status")["slices"]
    assert [row["slice"] for row in statuses] == [at(0), at(5), at(10)]
    assert sum(row["accepted"] for row in statuses) == sum(row["ingested"] for row in statuses) == 22_500


def test_an_interrupted_run_exits_with_4_and_goes_on_where_it_was(tmp_path):
    town = make_town(tmp_path / "town")
    whole = [sys.executable, "-c", AS_AT_A_TERMINAL, *command(town, "run", "--from", at(0), "--to", at(20))]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        ledger = town / "warehouse" / "ledger" / "stages"
        deadline = time.monotonic() + 240
        while not ledger.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 4, said
    assert "run the command again to continue" in said
    panelake(town, "run", "--from", at(0), "--to", at(20))
    assert_exact(town, range(1, 21))
    assert panelake(town, "run", "--from", at(0), "--to", at(20))["slices"] == []


def test_a_refused_slice_exits_with_1_keeps_its_staging_and_is_published_when_mended(tmp_path):
    """Half of the tuples of 0–5 have no event time: too many for the gate, until the ceiling is raised."""
    town = make_town(tmp_path / "town", tuples=7_500)
    bad = pq.read_table(town / "landing" / "traffic").slice(0, 5_000)
    timeless = bad.set_column(3, "ts", pa.nulls(len(bad), pa.timestamp("us", "UTC")))
    pq.write_table(timeless, town / "landing" / "traffic" / "timeless.parquet")
    document = panelake(town, "run", "--from", at(0), "--to", at(5), code=1)
    assert any("quarantine" in json.dumps(refused) for refused in document["refused"])
    assert not (town / "warehouse" / "gold" / "speed_by_area").exists() or gold(town) == []
    assert list((town / "warehouse" / "staging").rglob("*.parquet"))
    streams = town / "streams.yaml"
    streams.write_text(streams.read_text() + "    max_quarantined: 1.0\n")
    panelake(town, "run", "--from", at(0), "--to", at(5))
    (town / "landing" / "traffic" / "timeless.parquet").unlink()  # the oracle reads what can be timed
    assert_exact(town, range(1, 6))
