from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from panelake import tables
from panelake.gold import gold_schema
from panelake.language.query import AggregateCall, AggregateQuery, GroupKey, Output, Window
from panelake.report.answer_charts import MOST_WINDOWS, answer_charts
from panelake.report.answers import newest_rows
from panelake.report.charts import SERIES_STYLES

MINUTE = 60_000_000
SCHEMA = gold_schema(pa.schema([("area", pa.string()), ("n", pa.int64())]))


def query(kind: Any = "TS") -> AggregateQuery:
    keys, calls = (GroupKey("area", "area"),), (AggregateCall("count", None),)
    return AggregateQuery("q", "queries/q.sql", "s", Window(kind, 3, 1), keys, calls, (Output("n", "_a0"),))


def rows_of(ends: list[int], groups: int) -> pa.Table:
    rows = [(end - 3 * MINUTE, end, f"g{group}", group, end, 0) for end in ends for group in range(groups)]
    return pa.table(
        [pa.array(column, SCHEMA.field(i).type) for i, column in enumerate(zip(*rows, strict=True))], SCHEMA
    )


def as_tuples(rows: pa.Table) -> list[tuple[int, str]]:
    return list(zip(rows["window_end"].cast(pa.int64()).to_pylist(), rows["area"].to_pylist(), strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_the_newest_rows_are_found_whatever_file_they_lie_in(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a seeded order of files
    ends = [number * MINUTE for number in range(1, 41)]
    chance.shuffle(ends)
    address = str(tmp_path / "gold")
    for first in range(0, len(ends), 5):
        tables.append(address, rows_of(ends[first : first + 5], groups=3))
    expected = [(end, f"g{group}") for end in sorted(ends, reverse=True) for group in range(3)]
    for last in (1, 3, 7, 50, 1_000):
        found = newest_rows(address, query(), last)
        assert found is not None
        assert as_tuples(found) == expected[:last]


def test_windows_within_one_millisecond_are_told_apart(tmp_path: Path) -> None:
    address = str(tmp_path / "gold")
    ends = [MINUTE + number * 100 for number in range(30)]
    for end in ends:
        tables.append(address, rows_of([end], groups=1))
    tables.append(address, rows_of([ends[0] - 50, ends[-1] + 50], groups=1))
    found = newest_rows(address, query(), 4)
    assert found is not None
    assert [end for end, _ in as_tuples(found)] == [ends[-1] + 50, ends[-1], ends[-2], ends[-3]]


def test_only_the_files_that_hold_the_newest_rows_are_read(tmp_path: Path) -> None:
    address = tmp_path / "gold"
    for number in range(1, 11):
        tables.append(str(address), rows_of([number * MINUTE], groups=3))
    held = tables.open_table(str(address)).get_add_actions(flatten=True)
    by_end = dict(
        zip(
            pa.table(held)["min.window_end"].cast(pa.int64()).to_pylist(),
            pa.table(held)["path"].to_pylist(),
            strict=True,
        )
    )
    for end, path in by_end.items():
        if end <= 8 * MINUTE:
            (address / path).unlink()
    found = newest_rows(str(address), query(), 6)
    assert found is not None
    assert as_tuples(found) == [(end * MINUTE, f"g{group}") for end in (10, 9) for group in range(3)]


def test_a_query_with_a_table_but_no_rows_has_no_answers(tmp_path: Path) -> None:
    tables.create(str(tmp_path / "gold"), SCHEMA)
    assert newest_rows(str(tmp_path / "gold"), query(), 5) is None
    assert newest_rows(str(tmp_path / "nothing"), query(), 5) is None


def test_windows_of_rows_are_drawn_by_their_numbers(tmp_path: Path) -> None:
    schema = gold_schema(pa.schema([("area", pa.string()), ("n", pa.int64())]), "ROW")
    rows = [{"window_start": end - 3, "window_end": end, "area": "x", "n": 1, "_revision": 0} for end in (-500, 2_500)]
    tables.append(str(tmp_path / "gold"), pa.Table.from_pylist(rows, schema=schema))
    found = newest_rows(str(tmp_path / "gold"), query("ROW"), 5)
    assert found is not None
    assert found["window_end"].to_pylist() == [2_500, -500]
    (chart,) = answer_charts(found, ["area"]).charts
    assert '{"places":[-500,2500],"timed":false,' in chart
    assert '<th scope="row">-500</th>' in chart


def test_charts_show_few_groups_and_say_how_many_there_are() -> None:
    charts = answer_charts(
        rows_of([MINUTE, 2 * MINUTE], groups=1_000).sort_by([("window_end", "descending")]), ["area"]
    )
    assert (charts.groups_shown, charts.groups, charts.windows) == (SERIES_STYLES, 1_000, 2)
    assert len(charts.charts) == 1


def test_charts_reach_back_a_bounded_number_of_windows() -> None:
    ends = [number * MINUTE for number in range(1, 500)]
    assert answer_charts(rows_of(ends, groups=1), ["area"]).windows == MOST_WINDOWS
