"""A warehouse in an object store that speaks S3: a real server's answers, writers at the same time, the same gold."""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import fs

from panelake.catalog import Catalog
from panelake.cli import main
from panelake.durations import MINUTE
from panelake.home import example_workspace
from panelake.ledger import Ledger
from panelake.report.site import INDEX
from panelake.slices import Slice, format_instant, parse_instant
from panelake.spark.delta import replace_slice
from panelake.spark.object_store import open_store
from panelake.worlds.generate import generate

START = parse_instant("2026-01-01T00:00:00Z")
BOUNDS = ["--from", format_instant(START), "--to", format_instant(START + 10 * MINUTE)]
WRITERS, TIMES = 4, 8
WRITER = """
import sys
from panelake.catalog import Catalog
from panelake.ledger import Entry, Ledger
from panelake.slices import Slice
warehouse, number, times = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ledger = Ledger(Catalog(warehouse))
for time in range(times):
    ledger.record([Entry(Slice(time * 60, time * 60 + 60), "ingest", f"stream{number}", "done", time)])
"""


def test_every_entry_of_processes_that_write_one_ledger_at_once_is_kept(object_store: str) -> None:
    warehouse = f"{object_store}/many-writers"
    command = [sys.executable, "-c", WRITER, warehouse]
    writers = [subprocess.Popen([*command, str(number), str(TIMES)]) for number in range(WRITERS)]
    assert [writer.wait(240) for writer in writers] == [0] * WRITERS
    entries = Ledger(Catalog(warehouse)).entries()
    expected = {(f"stream{number}", time) for number in range(WRITERS) for time in range(TIMES)}
    assert {(entry.subject, entry.rows) for entry in entries} == expected
    assert DeltaTable(f"{warehouse}/ledger/stages").to_pyarrow_table().num_rows == WRITERS * TIMES


@pytest.mark.spark
def test_slices_that_one_server_replaces_at_once_are_all_kept(object_store: str, spark) -> None:
    address = f"{object_store}/at-once/bronze/cars"
    parts = [Slice(START + index * MINUTE, START + (index + 1) * MINUTE) for index in range(4)]

    def replace(part: Slice) -> None:
        replace_slice(spark.range(part.start, part.start + 10), address, part)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(replace, [*parts, *parts]))
    rows = DeltaTable(address).to_pyarrow_table()
    assert sorted(rows["id"].to_pylist()) == [part.start + number for part in parts for number in range(10)]


def world(folder: Path, warehouse: str) -> Path:
    root = folder / "traffic"
    shutil.copytree(example_workspace("traffic"), root, ignore=shutil.ignore_patterns("landing", "warehouse"))
    text = (root / "streams.yaml").read_text().replace("warehouse: warehouse", f"warehouse: {warehouse}")
    (root / "streams.yaml").write_text(text)
    generate("traffic", 2_000, 2_000 / 600, 1, START, root / "landing" / "traffic", lambda _: None)
    return root


def gold(warehouse: str) -> pa.Table:
    rows = DeltaTable(f"{warehouse}/gold/speed_by_area").to_pyarrow_table()
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


@pytest.mark.cluster
@pytest.mark.spark
@pytest.mark.timeout(900)
def test_the_whole_flow_makes_in_a_store_what_it_makes_in_a_folder(
    object_store: str, spark_server: str, tmp_path: Path
) -> None:
    warehouse = f"{object_store}/town"
    there = world(tmp_path / "there", warehouse)
    here = world(tmp_path / "here", "warehouse")
    for root in (there, here):
        assert main(["run", "--workspace", str(root), "--master", spark_server, *BOUNDS]) == 0
    expected = gold(str(here / "warehouse"))
    assert expected.num_rows > 0
    assert gold(warehouse).equals(expected)
    assert main(["run", "--workspace", str(there), "--master", spark_server, "--again", *BOUNDS]) == 0
    assert main(["maintain", "--workspace", str(there), "--master", spark_server]) == 0
    assert gold(warehouse).equals(expected)
    store, root = open_store(f"{warehouse}/report/{INDEX}")
    with store.open_input_stream(root) as page:
        assert b"speed_by_area" in page.read()


def test_the_containers_bucket_is_made_once(object_store: str) -> None:
    script = Path(__file__).parents[2] / "docker" / "make_bucket.py"
    for _ in range(2):
        subprocess.run([sys.executable, script, "panelake"], check=True)
    store, _ = open_store(object_store)
    assert "panelake" in [info.path for info in store.get_file_info(fs.FileSelector(""))]
