"""Gold: a window range replaced in one commit, revisions counted, the table left alone where nothing changed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from panelake import gold, tables
from panelake.durations import MINUTE, SECOND

COLUMNS = pa.schema([("area", pa.int32()), ("mean", pa.float64())])
UNSTAMPED = gold.answer_schema(COLUMNS, "TS")
KEYS = ["area"]
Row = tuple[int, int | None, float | None]


def answers(*rows: tuple[int, int | None, float | None]) -> pa.Table:
    """Rows of (window end in minutes, group, value), windows of one minute."""
    columns = [
        [(end - 1) * MINUTE for end, _, _ in rows],
        [end * MINUTE for end, _, _ in rows],
        [area for _, area, _ in rows],
        [mean for _, _, mean in rows],
    ]
    return pa.Table.from_arrays(
        [pa.array(values, kind) for values, kind in zip(columns, UNSTAMPED.types, strict=True)], schema=UNSTAMPED
    )


def stamped(*rows: tuple[int, int | None, float | None], slice_minutes: int = 5) -> pa.Table:
    length = slice_minutes * MINUTE
    spans = [gold.Span(at * length, (at + 1) * length, at * length) for at in range(-10, 40)]
    return gold.in_answered_slices(answers(*rows), spans)


def publish(address: str, first: int, last: int, *rows: tuple[int, int | None, float | None]) -> int:
    return gold.replace_windows(address, stamped(*rows), KEYS, [first * MINUTE, last * MINUTE]).rows


def read(address: str) -> list[dict[str, Any]]:
    rows = DeltaTable(address).to_pyarrow_table()
    return rows.sort_by([("window_end", "ascending"), ("area", "ascending")]).to_pylist()


def revisions(address: str) -> list[int]:
    return [row["_revision"] for row in read(address)]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "gold" / "means")


def test_a_row_is_stamped_with_the_slice_its_window_ends_in() -> None:
    # slice   (0, 5]        (5, 10]
    # ends     1     5       6
    rows = stamped((1, 1, 0.0), (5, 1, 0.0), (6, 1, 0.0))
    assert rows["_slice"].cast(pa.int64()).to_pylist() == [0, 0, 5 * MINUTE]


def test_a_row_that_ends_in_no_answered_slice_goes() -> None:
    spans = [gold.Span(0, 5 * MINUTE, 0), gold.Span(10 * MINUTE, 15 * MINUTE, 10 * MINUTE)]
    rows = gold.in_answered_slices(answers((5, 1, 0.0), (6, 1, 0.0), (10, 1, 0.0), (11, 1, 0.0), (16, 1, 0.0)), spans)
    assert rows["window_end"].cast(pa.int64()).to_pylist() == [5 * MINUTE, 11 * MINUTE]


def test_where_a_day_covers_five_minutes_a_row_belongs_to_the_five_minutes() -> None:
    spans = [
        gold.Span(0, 5 * MINUTE, 0),
        gold.Span(5 * MINUTE, 10 * MINUTE, 5 * MINUTE),
        gold.Span(0, 1440 * MINUTE, 0),
    ]
    rows = gold.in_answered_slices(answers((6, 1, 0.0), (11, 1, 0.0)), spans)
    assert rows["_slice"].cast(pa.int64()).to_pylist() == [5 * MINUTE, 0]


def test_rows_over_sequence_numbers_are_stamped_by_the_numbers_of_a_slice() -> None:
    schema = gold.answer_schema(COLUMNS, "ROW")
    rows = pa.Table.from_pylist(
        [{"window_start": 0, "window_end": end, "area": 1, "mean": 0.0} for end in (3, 4)], schema
    )
    spans = [gold.Span(0, 3, 0), gold.Span(3, 6, 5 * MINUTE)]  # numbers 0 to 2, then 3 to 5
    assert gold.in_answered_slices(rows, spans)["_slice"].cast(pa.int64()).to_pylist() == [0, 5 * MINUTE]


def test_the_same_rows_again_leave_the_version_as_it_was(address: str) -> None:
    rows = [(1, None, 1.0), (1, 2, None), (2, 2, math.nan)]
    assert publish(address, 1, 2, *rows) == 3
    version = DeltaTable(address).version()
    assert publish(address, 1, 2, *reversed(rows)) == 3
    assert DeltaTable(address).version() == version
    assert revisions(address) == [0, 0, 0]


def test_a_changed_row_gets_a_higher_revision_and_the_others_keep_theirs(address: str) -> None:
    publish(address, 1, 2, (1, None, 1.0), (1, 2, 5.0), (2, 2, math.nan))
    publish(address, 1, 2, (1, None, 1.5), (1, 2, 5.0), (2, 2, math.nan))
    publish(address, 1, 2, (1, None, None), (1, 2, 5.0), (2, 2, 7.0))
    rows = {(row["window_end"].minute, row["area"]): (row["mean"], row["_revision"]) for row in read(address)}
    assert rows == {(1, None): (None, 2), (1, 2): (5.0, 0), (2, 2): (7.0, 1)}


def test_a_group_that_is_due_no_more_goes_and_a_new_one_starts_at_revision_0(address: str) -> None:
    publish(address, 1, 2, (1, 1, 1.0), (2, 1, 1.0))
    publish(address, 1, 2, (1, 1, 2.0), (1, 3, 1.0))
    assert [(row["window_end"].minute, row["area"], row["_revision"]) for row in read(address)] == [
        (1, 1, 1),
        (1, 3, 0),
    ]


def test_a_restated_row_keeps_the_slice_it_was_first_stamped_with(address: str) -> None:
    publish(address, 6, 6, (6, 1, 1.0))
    longer = stamped((6, 1, 2.0), slice_minutes=30)
    gold.replace_windows(address, longer, KEYS, [6 * MINUTE, 6 * MINUTE])
    (row,) = read(address)
    assert (row["_slice"].minute, row["_revision"], row["mean"]) == (5, 1, 2.0)


def test_an_older_slice_after_a_newer_one_leaves_both(address: str) -> None:
    publish(address, 6, 10, (6, 1, 6.0), (10, 1, 10.0))
    publish(address, 1, 5, (1, 1, 1.0), (5, 1, 5.0))
    assert [row["mean"] for row in read(address)] == [1.0, 5.0, 6.0, 10.0]


def test_windows_outside_the_range_are_never_touched(address: str) -> None:
    publish(address, 1, 3, (1, 1, 1.0), (2, 1, 2.0), (3, 1, 3.0))
    publish(address, 2, 2)
    assert [row["mean"] for row in read(address)] == [1.0, 3.0]


def restate(address: str, ends: list[list[int]], *rows: Row, gone: tuple[Row, ...] = ()) -> gold.Written:
    """Some groups of windows answered before, with nothing else due."""
    ranges = [[first * MINUTE, last * MINUTE] for first, last in ends]
    return gold.replace_windows(address, stamped(*rows), KEYS, [], gold.Restated(ranges, answers(*gone)))


def test_of_restated_windows_only_the_groups_given_change(address: str) -> None:
    publish(address, 1, 3, (1, 1, 1.0), (1, 2, 2.0), (2, 1, 3.0), (3, None, 4.0))
    written = restate(address, [[1, 1], [3, 3]], (1, 2, 9.0), (3, None, 4.0), (3, 5, 5.0))
    assert [(row["window_end"].minute, row["area"], row["mean"], row["_revision"]) for row in read(address)] == [
        (1, 1, 1.0, 0), (1, 2, 9.0, 1), (2, 1, 3.0, 0), (3, 5, 5.0, 0), (3, None, 4.0, 0),
    ]  # fmt: skip
    assert written.rows == 3
    assert written.changed is not None
    assert {(row["window_end"].minute, row["area"]) for row in written.changed.to_pylist()} == {(1, 2), (3, 5)}


def test_a_restated_answer_that_having_drops_goes_and_its_neighbours_stay(address: str) -> None:
    publish(address, 1, 2, (1, 1, 1.0), (1, None, 2.0), (2, None, 3.0))
    written = restate(address, [[1, 2]], gone=((1, None, 7.0), (2, 1, 7.0)))
    assert [(row["window_end"].minute, row["area"]) for row in read(address)] == [(1, 1), (2, None)]
    assert written.changed is not None
    assert [(row["window_end"].minute, row["area"]) for row in written.changed.to_pylist()] == [(1, None)]


def test_a_restatement_that_changes_nothing_leaves_the_version_as_it_was(address: str) -> None:
    publish(address, 1, 2, (1, 1, 1.0), (2, 1, 3.0))
    version = DeltaTable(address).version()
    assert restate(address, [[1, 1]], (1, 1, 1.0)) == gold.Written(1)
    assert DeltaTable(address).version() == version


def test_nothing_due_makes_the_table_and_writes_nothing(address: str) -> None:
    assert gold.replace_windows(address, stamped(), KEYS, []).rows == 0
    assert read(address) == []


def test_windows_over_rows_are_replaced_by_number(address: str) -> None:
    schema = pa.schema([*gold.answer_schema(COLUMNS, "ROW"), ("_slice", pa.timestamp("us", tz="UTC"))])

    def rows(**means: float) -> pa.Table:
        found = [
            {"window_start": int(end[1:]) - 2, "window_end": int(end[1:]), "area": 1, "mean": mean, "_slice": 0}
            for end, mean in means.items()
        ]
        return pa.Table.from_pylist(found, schema)

    gold.replace_windows(address, rows(_2=1.0, _4=2.0, _6=3.0), KEYS, [2, 6])
    gold.replace_windows(address, rows(_4=9.0), KEYS, [4, 4])
    assert [(row["window_end"], row["mean"]) for row in read(address)] == [(2, 1.0), (4, 9.0), (6, 3.0)]


def test_keys_of_every_type_are_told_apart() -> None:
    instant = pa.timestamp("us", tz="UTC")
    kinds = {"s": pa.string(), "b": pa.binary(), "f": pa.float64(), "d": pa.decimal128(20, 2), "t": pa.bool_()}
    schema = pa.schema([("window_end", instant), *kinds.items(), ("v", pa.int64()), ("_slice", instant)])
    values = {"s": ["", None], "b": [b"\0", None], "f": [math.nan, None], "d": [1, None], "t": [False, None]}
    rows = [
        {"window_end": 0, "_slice": 0, "v": 1, **{key: values[key][place >> bit & 1] for bit, key in enumerate(kinds)}}
        for place in range(32)
    ]
    table = pa.Table.from_pylist(rows, schema)
    first = gold.with_revisions(table, table.slice(0, 0), list(kinds))
    changed = table.set_column(table.schema.get_field_index("v"), "v", pa.array([1] * 31 + [2]))
    assert gold.with_revisions(changed, first, list(kinds))["_revision"].to_pylist() == [0] * 31 + [1]


def _publish_slices(address: str, numbers: list[int]) -> None:
    for number in numbers:
        first = number * 5 + 1
        publish(address, first, first + 4, *((end, 1, float(number)) for end in range(first, first + 5)))


def test_files_are_gathered_and_nothing_but_files_changes(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_FILES", 5)
    _publish_slices(address, list(range(12)))
    assert len(DeltaTable(address).file_uris()) < 5
    version = DeltaTable(address).version()
    _publish_slices(address, list(range(12)))
    assert DeltaTable(address).version() == version
    publish(address, 6, 10, (6, 1, -1.0))
    means = [row["mean"] for row in read(address)]
    assert means == [0.0] * 5 + [-1.0] + [float(number) for number in range(2, 12) for _ in range(5)]
    assert revisions(address) == [0] * 5 + [1] + [0] * 50


SHARES = [list(range(share, 20, 4)) for share in range(4)]


def assert_all_slices_are_there(address: str) -> None:
    rows = read(address)
    assert [row["window_end"].timestamp() * SECOND for row in rows] == [end * MINUTE for end in range(1, 101)]
    assert [row["mean"] for row in rows] == [float(number) for number in range(20) for _ in range(5)]
    assert revisions(address) == [0] * 100


def test_four_threads_that_write_different_slices_lose_nothing(address: str) -> None:
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(_publish_slices, [address] * 4, SHARES))
    assert_all_slices_are_there(address)


def test_four_processes_that_write_different_slices_lose_nothing(address: str) -> None:
    commands = [[sys.executable, __file__, address, json.dumps(share)] for share in SHARES]
    writers = [subprocess.Popen(command) for command in commands]
    assert [writer.wait(120) for writer in writers] == [0] * 4
    assert_all_slices_are_there(address)


def test_two_writers_of_the_same_windows_count_every_change(address: str) -> None:
    publish(address, 1, 1, (1, 1, -1.0))
    with ThreadPoolExecutor(4) as executor:
        list(executor.map(lambda value: publish(address, 1, 1, (1, 1, float(value))), range(12)))
    (row,) = read(address)
    assert row["_revision"] == 12


if __name__ == "__main__":
    _publish_slices(sys.argv[1], json.loads(sys.argv[2]))
