"""Each rule of staged answers alone catches the row it is there for, and lets sound rows pass."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from panelake.durations import MINUTE
from panelake.gold import answer_schema
from panelake.kernels.window_spec import WindowSpec
from panelake.language.parser import parse_query
from panelake.ledger import Entry
from panelake.quality.answer_rules import Answers, answer_metrics
from panelake.quality.metric import Metric
from panelake.slices import Slice

PART = Slice(10 * MINUTE, 12 * MINUTE)
QUERY = parse_query(
    "speeds",
    "queries/speeds.sql",
    """SELECT area, count(*) AS cars, count(speed) AS known, min(speed) AS slowest, avg(speed) AS mean,
       max(speed) AS fastest, stddev_samp(speed) AS spread, max(speed) - 2 * min(speed) AS odd
       FROM s [RANGE 2 MINUTES SLIDE 1 MINUTE] GROUP BY area""",
    {"s": {"area": "int", "speed": "double", "ts": "timestamp"}},
)
COLUMNS = pa.schema([
    ("area", pa.int32()), ("cars", pa.int64()), ("known", pa.int64()), ("slowest", pa.float64()),
    ("mean", pa.float64()), ("fastest", pa.float64()), ("spread", pa.float64()), ("odd", pa.float64()),
])  # fmt: skip
SOUND = {"area": 1, "cars": 3, "known": 3, "slowest": 1.0, "mean": 2.0, "fastest": 3.0, "spread": 1.0, "odd": -9.0}


def row(end_minute: float, **changes: Any) -> dict[str, Any]:
    end = round(end_minute * MINUTE)
    return {"window_start": end - 2 * MINUTE, "window_end": end, **SOUND, **changes}


def metrics(*rows: dict[str, Any], ends: tuple[int, ...] = (11, 12), staged: int | None = None) -> dict[str, Metric]:
    details = {"ends": [end * MINUTE for end in ends], "types": {}}
    windows = Entry(PART, "windows", "speeds", "done", len(rows) if staged is None else staged, details=details)
    table = pa.Table.from_pylist(list(rows), schema=answer_schema(COLUMNS, "TS"))
    answers = Answers(QUERY, WindowSpec(2 * MINUTE, MINUTE), PART, windows, table, "")
    return {metric.rule: metric for metric in answer_metrics(answers)}


def failing(found: dict[str, Metric]) -> set[str]:
    return {rule for rule, metric in found.items() if not metric.low <= metric.observed <= metric.high}


@pytest.mark.parametrize(
    "rows",
    [
        [row(11), row(12), row(11, area=None), row(12, area=None)],
        [row(11, slowest=None, mean=None, fastest=None, spread=None, known=0)],
        [row(11, mean=math.nan, fastest=math.nan, spread=math.nan)],
        [row(11, slowest=0.1, mean=0.1 + 1e-16, fastest=0.1)],
        [row(11, slowest=-math.inf, mean=math.nan, fastest=math.inf)],
        [],
    ],
    ids=["plain", "only NULL", "NaN", "rounding", "infinite", "none"],
)
def test_sound_rows_pass_every_rule(rows: list[dict[str, Any]]) -> None:
    assert failing(metrics(*rows)) == set()


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("windows_on_grid", row(11.5)),
    ("windows_on_grid", row(11, window_start=10 * MINUTE)),
    ("windows_in_range", row(13)),
    ("windows_in_range", row(10)),
    ("value_order", row(11, slowest=2.5)),
    ("value_order", row(11, mean=3.5)),
    ("value_order", row(11, mean=None, slowest=4.0)),
    ("value_ranges", row(11, cars=0)),
    ("value_ranges", row(11, known=-1)),
    ("value_ranges", row(11, spread=-0.1)),
]


@pytest.mark.parametrize(("rule", "bad"), FAULTS)
def test_a_bad_row_fails_its_rule_alone_and_is_the_sample(rule: str, bad: dict[str, Any]) -> None:
    found = metrics(row(12), bad)
    assert failing(found) == {rule}
    assert found[rule].observed == 1
    (shown,) = found[rule].sample()
    assert {name: shown[name] for name in SOUND} == {name: bad[name] for name in SOUND}


def test_a_window_and_group_that_is_there_twice_is_named_once() -> None:
    found = metrics(row(11), row(11, cars=4), row(12), row(11, area=None), row(11, area=None))
    assert failing(found) == {"unique_windows"}
    assert found["unique_windows"].observed == 2
    assert [(shown["area"], shown["times"]) for shown in found["unique_windows"].sample()] == [(1, 2), (None, 2)]


def test_rows_that_vanished_from_staging_are_missed() -> None:
    found = metrics(row(11), staged=2)
    assert failing(found) == {"rows_staged"}
    assert (found["rows_staged"].observed, found["rows_staged"].expected) == (1, "2")


@pytest.mark.parametrize(("ends", "missing"), [((11, 11), [12]), ((12, 12), [11]), ((), [11, 12])])
def test_a_window_of_the_slice_that_was_not_due_is_missed(ends: tuple[int, ...], missing: list[int]) -> None:
    found = metrics(ends=ends)
    assert failing(found) == {"windows_due"}
    assert found["windows_due"].sample() == [{"k": k} for k in missing]


def test_windows_of_earlier_slices_that_late_tuples_restate_are_due_too() -> None:
    assert failing(metrics(row(9), row(12), ends=(9, 12))) == set()


def test_a_message_tells_instants_not_numbers() -> None:
    expected = metrics()["windows_in_range"].expected
    assert expected == "0 (1970-01-01T00:11:00Z <= window_end <= 1970-01-01T00:12:00Z)"
