from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable

from panelake.durations import MINUTE
from panelake.slices import Slice, parse_instant, to_datetime
from panelake.spark.delta import read_slices, replace_counted, replace_slice

pytestmark = pytest.mark.spark

NOON = parse_instant("2026-01-01T12:00:00Z")
PARTS = [Slice(NOON + i * 5 * MINUTE, NOON + (i + 1) * 5 * MINUTE) for i in range(8)]


def write(spark, address, part, ids) -> int:
    return replace_counted(spark.createDataFrame([(number,) for number in ids], "id bigint"), address, part)


def ids_by_slice(address) -> dict[object, list[int]]:
    found: dict[object, list[int]] = {}
    for row in DeltaTable(address).to_pyarrow_table(columns=["_slice", "id"]).to_pylist():
        found.setdefault(row["_slice"], []).append(row["id"])
    return {part: sorted(ids) for part, ids in found.items()}


def test_an_older_slice_written_after_a_newer_one_is_there(spark, tmp_path):
    address = str(tmp_path / "table")
    newer, older = PARTS[1], PARTS[0]
    assert write(spark, address, newer, [10, 11]) == 2
    assert write(spark, address, older, [1, 2, 3]) == 3
    assert ids_by_slice(address) == {to_datetime(older.start): [1, 2, 3], to_datetime(newer.start): [10, 11]}


def test_a_slice_written_again_is_replaced_and_nothing_else(spark, tmp_path):
    address = str(tmp_path / "table")
    for part, ids in ((PARTS[0], [1, 2]), (PARTS[1], [3]), (PARTS[0], [1, 2]), (PARTS[0], [7])):
        write(spark, address, part, ids)
    assert ids_by_slice(address) == {to_datetime(PARTS[0].start): [7], to_datetime(PARTS[1].start): [3]}


def test_an_empty_slice_empties_it(spark, tmp_path):
    address = str(tmp_path / "table")
    write(spark, address, PARTS[0], [1, 2])
    assert write(spark, address, PARTS[0], []) == 0
    assert ids_by_slice(address) == {}


def test_four_writers_replace_different_slices_of_one_day_at_once(spark, tmp_path):
    address = str(tmp_path / "table")
    with ThreadPoolExecutor(4) as threads:
        for turn in (100, 200):  # the second turn replaces what the first wrote
            jobs = [threads.submit(write, spark, address, part, range(turn, turn + 5)) for part in PARTS]
            assert [job.result() for job in jobs] == [5] * len(PARTS)
    assert ids_by_slice(address) == {to_datetime(part.start): list(range(200, 205)) for part in PARTS}


def test_there_is_a_folder_a_day_and_none_a_slice(spark, tmp_path):
    address = str(tmp_path / "table")
    next_day = Slice(NOON + 24 * 60 * MINUTE, NOON + 24 * 60 * MINUTE + 5 * MINUTE)
    for part in (*PARTS[:3], next_day):
        write(spark, address, part, [1])
    folders = {path.name for path in Path(address).iterdir() if path.is_dir()}
    assert folders == {"_delta_log", "_date=2026-01-01", "_date=2026-01-02"}


def test_a_range_reads_the_slices_that_start_in_it(spark, tmp_path):
    address = str(tmp_path / "table")
    for number, part in enumerate(PARTS[:4]):
        write(spark, address, part, [number])
    found = read_slices(spark, address, PARTS[1].start, PARTS[3].start).collect()
    assert sorted(row["id"] for row in found) == [1, 2]


def test_a_column_that_comes_later_is_null_in_what_was_there(spark, tmp_path):
    address = str(tmp_path / "table")
    write(spark, address, PARTS[0], [1])
    wider = spark.createDataFrame([(2, "x")], "id bigint, extra string")
    replace_slice(wider, address, PARTS[1])
    rows = DeltaTable(address).to_pyarrow_table(columns=["id", "extra"]).to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == [{"id": 1, "extra": None}, {"id": 2, "extra": "x"}]
