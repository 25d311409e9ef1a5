"""What of a query a raw recompute can check."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from panelake.language.parser import parse_query
from panelake.language.query import AggregateQuery
from panelake.ledger import Entry
from panelake.planning.pane_set import window_spec
from panelake.quality.answer_rules import Answers
from panelake.quality.recompute import Sample, _Calls, recompute_metrics
from panelake.slices import Slice

COLUMNS = {"s": {"area": "int", "speed": "double", "ts": "timestamp"}}
PART = Slice(0, 60_000_000)
WINDOW = "[RANGE 60 SECONDS SLIDE 60 SECONDS]"


def query(name: str, selected: str, rest: str = "") -> AggregateQuery:
    return parse_query(name, "q.sql", f"SELECT area, {selected} {'FROM'} s {WINDOW} GROUP BY area {rest}", COLUMNS)


def sample(asked: AggregateQuery, **row: Any) -> Sample:
    windows = Entry(PART, "windows", asked.name, "done", 1, details={"ends": [], "due": 0})
    answers = Answers(asked, window_spec(asked.window), PART, windows, pa.table({"area": [1]}), "")
    return Sample(answers, {"window_end": datetime(1970, 1, 1, 0, 1, tzinfo=UTC), "area": 1, **row})


def test_queries_that_select_the_same_share_what_is_recomputed() -> None:
    one, other = query("one", "sum(speed) AS total"), query("other", "sum(speed) AS speeds, max(speed) AS top")
    calls = _Calls([sample(one, total=1.0), sample(other, speeds=1.0, top=1.0)])
    assert calls.column(one, one.outputs[0].expression) == calls.column(other, other.outputs[0].expression)
    assert calls.column(other, other.outputs[1].expression) not in {None, calls.column(one, one.outputs[0].expression)}


def test_a_sketch_is_not_recomputed_nor_what_is_limited_by_one() -> None:
    limited = query(
        "limited", "approx_count_distinct(speed) AS kinds, count(*) AS n", "HAVING approx_count_distinct(speed) > 1"
    )
    one = sample(limited, kinds=2, n=3)
    calls = _Calls([one])
    counted = calls.column(limited, "`_a1`")
    assert calls.column(limited, "`_a0`") is None
    assert calls.column(limited, limited.having or "") is None
    assert counted is not None
    facts = pa.table({"_sample": [0], counted: [4], f"{counted}|": [0.0]})
    (metric,) = recompute_metrics([one.answers], [one], facts)
    assert metric.observed == 1
    (row,) = metric.sample()
    assert (row["column"], row["staged"], row["recomputed"]) == ("n", 3, 4)
