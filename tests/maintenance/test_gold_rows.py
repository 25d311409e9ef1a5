from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from panelake.maintenance.gold_rows import remove


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("us", tz="UTC")])
def test_rows_go_and_their_neighbours_stay(tmp_path: Path, kind: pa.DataType) -> None:
    address = str(tmp_path / "gold")
    rows = [(end, car) for end in range(6) for car in (1, 2, None)]
    table = pa.table({"window_end": pa.array([end for end, _ in rows]).cast(kind), "car": [car for _, car in rows]})
    write_deltalake(address, table.filter(pc.not_equal(table["window_end"].cast(pa.int64()), 5)))
    assert remove(address, pc.field("car") == 2) == 5
    left = DeltaTable(address).to_pyarrow_table()
    assert sorted(left["car"].to_pylist(), key=str) == [1] * 5 + [None] * 5
    assert remove(address, pc.field("car") == 2) == 0
