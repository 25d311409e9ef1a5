from __future__ import annotations

from itertools import chain

import pyarrow as pa

from panelake.home import example_workspace
from panelake.slices import parse_instant
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate
from panelake.worlds.news import HEADLINES, SCHEMA, batches

START = parse_instant("2026-01-01T00:00:00Z")


def world(tuples):
    return dict(batches(tuples, 1.0, 1, START))


def test_the_first_28_are_the_papers_round_robin():
    sites = world(28)
    assert all(table.schema == SCHEMA for table in sites.values())
    assert {site: table["keyword"].to_pylist() for site, table in sites.items()} == HEADLINES
    times = {site: table["ts"].cast(pa.int64()).to_pylist() for site, table in sites.items()}
    assert times["hankook"][HEADLINES["hankook"].index("재테크전략")] == START + 16_000_000
    assert sorted(chain.from_iterable(times.values())) == [START + t * 1_000_000 for t in range(28)]


def test_three_stories_of_each_round_are_common_to_all_sites():
    sites = [set(table["keyword"].to_pylist()) for table in world(2 * 28).values()]
    first = {"화물연대", "개성공단", "신종플루"}
    assert set.intersection(*sites) == first | {f"{word} 2" for word in first}


def test_a_count_that_is_no_whole_round_ends_in_the_middle_of_one():
    assert sum(len(table) for table in world(30).values()) == 30
    assert world(1).keys() == {"hankook"}


def test_each_sites_files_land_where_the_workspace_expects_them(tmp_path):
    files = generate("news", 28, 1.0, 1, START, tmp_path / "landing", lambda _: None)
    workspace = load_workspace(example_workspace("news"))
    assert [file.parent.name for file in files] == list(HEADLINES) == list(workspace.streams)
    assert [stream.source.path for stream in workspace.streams.values()] == [f"landing/{name}" for name in HEADLINES]
