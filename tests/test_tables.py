from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import fs

from panelake import tables
from panelake.errors import PartDownError, TransientError

SCHEMA = pa.schema([("key", pa.string()), ("number", pa.int64())])


def rows(*numbers: int, key: str = "a") -> pa.Table:
    return pa.table({"key": [key] * len(numbers), "number": list(numbers)}, schema=SCHEMA)


def numbers(address: str) -> list[int]:
    return sorted(tables.read(address, SCHEMA)["number"].to_pylist())


@pytest.fixture
def address(tmp_path) -> str:
    return str(tmp_path / "a täble")


def test_a_table_that_is_not_there_has_no_rows_but_its_columns(address):
    assert tables.read(address, SCHEMA).schema == SCHEMA
    assert tables.read(address, SCHEMA, columns=["number"]).column_names == ["number"]
    assert tables.open_table(address) is None


def test_no_thread_of_arrow_reads_through_python(address):
    tables.append(address, rows(1, 2))
    store = tables.dataset(DeltaTable(address)).filesystem
    while isinstance(store, fs.SubTreeFileSystem):
        store = store.base_fs
    assert isinstance(store, fs.LocalFileSystem), "a process that ends while Arrow reads through Python aborts"


def test_rows_are_found_by_the_values_of_columns(address):
    tables.append(address, rows(1, 2))
    tables.append(address, rows(3, key="b"))
    assert tables.read(address, SCHEMA, where={"key": "b"})["number"].to_pylist() == [3]
    assert tables.read(address, SCHEMA, where={"key": "b", "number": 1}).num_rows == 0


def test_who_decides_by_what_is_there_is_never_overtaken(address):
    """Each of many writers takes the next number: none is given twice, none is left out."""

    def take(_turn: int) -> None:
        def decide(present: pa.Table) -> pa.Table:
            return rows(present.num_rows)

        tables.compare_and_append(address, SCHEMA, decide)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(take, range(20)))
    assert numbers(address) == list(range(20))


def test_deciding_for_nothing_commits_nothing(address):
    tables.append(address, rows(1))
    before = DeltaTable(address).version()
    tables.compare_and_append(address, SCHEMA, lambda _present: None)
    assert DeltaTable(address).version() == before


def test_many_small_files_become_few_and_no_row_is_lost(address, monkeypatch):
    monkeypatch.setattr(tables, "MOST_FILES", 10)
    for number in range(35):
        tables.append(address, rows(number))
        assert len(DeltaTable(address).file_uris()) <= 10
    assert numbers(address) == list(range(35))


def test_a_writer_that_always_loses_gives_up_as_transient(address, monkeypatch):
    monkeypatch.setattr(tables.time, "sleep", lambda _seconds: None)

    def lose() -> None:
        raise tables.CommitFailedError("another was first")

    with pytest.raises(TransientError, match="run again when they are done"):
        tables.retry_conflicts(lose, address)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PartDownError, match="cannot be written"):
        tables.create(str(tmp_path / "file" / "table"), SCHEMA)
    with pytest.raises(PartDownError, match="change 'warehouse'"):
        tables.require_writable(str(tmp_path / "file" / "warehouse"))
