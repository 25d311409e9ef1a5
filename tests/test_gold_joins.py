"""Gold of joins: a slice's combinations take the place of those that hold its tuples, and of no others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from panelake.gold_joins import Owned, join_schema, replace_combinations

SCHEMA = join_schema(pa.schema([("x", pa.int64())]), ["a", "b"])
KNOWN = {"a": [0, 30], "b": [0, 30]}
Row = tuple[int, int, int]  # x, number in a, number in b


def owned(first: int, end: int) -> Owned:
    """Rows with a tuple of one slice, in either stream."""
    return Owned({"a": [[first, end]], "b": [[first, end]]}, KNOWN)


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "gold")


def put(address: str, rows: list[Row], what: Owned, slice_start: int = 0) -> int:
    folder = Path(address).parent / f"staged-{len(list(Path(address).parent.iterdir()))}"
    folder.mkdir()
    values = [{"x": x, "window_end": 60, "_slice": slice_start, "_seq_a": a, "_seq_b": b} for x, a, b in rows]
    pq.write_table(pa.Table.from_pylist(values, schema=pa.schema(list(SCHEMA)[:-1])), folder / "part.parquet")
    return replace_combinations(address, ds.dataset(folder, format="parquet"), SCHEMA, what)


def there(address: str) -> dict[tuple[int, int], tuple[int, int]]:
    rows = DeltaTable(address).to_pyarrow_table().to_pylist()
    return {(row["_seq_a"], row["_seq_b"]): (row["x"], row["_revision"]) for row in rows}


def test_combinations_of_other_slices_stay(address: str) -> None:
    assert put(address, [(1, 0, 1), (2, 3, 4)], owned(0, 10)) == 2
    assert put(address, [(3, 12, 15), (4, 5, 12)], owned(10, 20)) == 2
    assert there(address) == {(0, 1): (1, 0), (3, 4): (2, 0), (12, 15): (3, 0), (5, 12): (4, 0)}


def test_a_slice_run_again_changes_nothing_and_a_changed_row_is_revised(address: str) -> None:
    put(address, [(1, 0, 1), (2, 3, 4)], owned(0, 10))
    version = DeltaTable(address).version()
    assert put(address, [(2, 3, 4), (1, 0, 1)], owned(0, 10)) == 2
    assert DeltaTable(address).version() == version
    assert put(address, [(1, 0, 1), (9, 3, 4), (5, 6, 7)], owned(0, 10)) == 3
    assert there(address) == {(0, 1): (1, 0), (3, 4): (9, 1), (6, 7): (5, 0)}


def test_rows_that_are_no_longer_due_go(address: str) -> None:
    put(address, [(1, 0, 1), (2, 3, 4)], owned(0, 10))
    assert put(address, [(1, 0, 1)], owned(0, 10)) == 1
    assert put(address, [], owned(0, 10)) == 0
    assert there(address) == {}


def test_numbers_that_no_tuple_has_any_more_go_with_the_next_slice(address: str) -> None:
    put(address, [(1, 0, 1), (2, 40, 41)], Owned({"a": [[0, 50]], "b": [[0, 50]]}, {}))
    put(address, [(3, 12, 12)], owned(10, 20))
    assert there(address) == {(0, 1): (1, 0), (12, 12): (3, 0)}


def test_a_join_that_may_shed_owns_the_rows_of_its_slice_alone(address: str) -> None:
    put(address, [(1, 0, 1)], Owned({}, {}, [0]))
    put(address, [(2, 0, 12)], Owned({}, {}, [60]), slice_start=60)
    assert put(address, [(7, 3, 3)], Owned({}, {}, [0])) == 1, (
        "the later slice's row holds a tuple of this one and stays"
    )
    assert there(address) == {(3, 3): (7, 0), (0, 12): (2, 0)}


def test_nothing_staged_for_nothing_there_is_no_commit(address: str) -> None:
    put(address, [], owned(0, 10))
    assert DeltaTable(address).version() == 0
