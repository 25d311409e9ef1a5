from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panelake.home import checkout, example_workspace
from panelake.slices import parse_instant
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate
from panelake.worlds.packets import ROUTERS, SCHEMA, batches

START = parse_instant("2026-01-01T00:00:00Z")


def world(tuples=30_000, rate=1_000.0, seed=1):
    found = {router: [] for router in ROUTERS}
    for router, table in batches(tuples, rate, seed, START):
        found[router].append(table)
    return {router: pa.concat_tables(tables) for router, tables in found.items()}


def column(table, name):
    return table[name].cast(pa.int64()).to_numpy()


def test_the_same_seed_gives_the_same_packets_and_another_others():
    assert world() == world()
    assert world() != world(seed=2)


def test_as_many_tuples_as_asked_for_each_routers_in_time_order_at_about_the_rate():
    routers = world(tuples=250_001)
    assert sum(len(table) for table in routers.values()) == 250_001
    for table in routers.values():
        times = column(table, "ts")
        assert table.schema == SCHEMA
        assert (np.diff(times) >= 0).all()
        assert times[0] >= START
        assert abs(times[-1] - START - 250_001_000) < 10_000_000


def test_a_router_sees_a_packet_once_and_most_packets_cross_all_three_in_order():
    routers = world()
    seen = {router: dict(zip(column(t, "pid"), column(t, "ts"), strict=True)) for router, t in routers.items()}
    assert all(len(seen[router]) == len(routers[router]) for router in ROUTERS)
    everywhere = set(seen["r1"]) & set(seen["r2"]) & set(seen["r3"])
    there = [seen["r1"][pid] < seen["r2"][pid] < seen["r3"][pid] for pid in everywhere]
    back = [seen["r3"][pid] < seen["r2"][pid] < seen["r1"][pid] for pid in everywhere]
    assert sum(there) + sum(back) > 0.999 * len(everywhere)
    assert 0.3 < sum(back) / len(everywhere) < 0.55
    assert 0.6 < len(everywhere) / len(set(seen["r1"]) | set(seen["r2"]) | set(seen["r3"])) < 0.8


def test_each_routers_files_land_in_a_folder_of_its_own_as_the_workspace_expects(tmp_path):
    files = generate("packets", 900, 100.0, 1, START, tmp_path / "landing", lambda _: None)
    workspace = load_workspace(example_workspace("packets"))
    assert [file.parent.name for file in files] == list(ROUTERS)
    assert [stream.source.path for stream in workspace.streams.values()] == [f"landing/{name}" for name in ROUTERS]
    assert sum(pq.read_metadata(file).num_rows for file in files) == 900


def test_the_readme_shows_the_join_of_the_example():
    readme = (checkout() / "README.md").read_text(encoding="utf-8")
    query = (example_workspace("packets") / "queries" / "packet_paths.sql").read_text(encoding="utf-8")
    assert f"```sql\n{query}```" in readme
