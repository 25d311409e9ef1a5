"""What is told from event times alone equals a count over all tuples, whatever the row groups."""

from __future__ import annotations

import io
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.slices import Slice
from panelake.sources import glance as module
from panelake.sources.files import SourceFile
from panelake.sources.glance import glance
from panelake.sources.parquet import _groups_apart

FILE = SourceFile("a.parquet", 1, 1)
PART = Slice(1_000, 2_000)
LATE = Slice(0, 500)


def parquet(times, unit="us", rows=4):
    buffer = io.BytesIO()
    column = pa.array(times, pa.timestamp(unit, tz="UTC"))
    pq.write_table(pa.table({"ts": column}), buffer, row_group_size=rows)
    return pq.ParquetFile(buffer)


def looked_at(times, **asked):
    return glance(FILE, parquet(times), "ts", PART, **asked)


@settings(deadline=None)
@given(
    times=st.lists(st.integers(900, 2_100), min_size=1, max_size=30).flatmap(
        lambda times: st.sampled_from([times, sorted(times)])
    ),
    batch=st.integers(1, 5),
    rows=st.integers(1, 9),
)
def test_a_glance_counts_what_a_look_at_every_tuple_counts(times, batch, rows):
    file = parquet(times, rows=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BATCH", batch)
        apart = _groups_apart(file.metadata, "ts", [PART])
        seen = glance(FILE, file, "ts", PART, elsewhere=apart)
    own = [(time, row) for row, time in enumerate(times) if PART.start <= time < PART.end]
    assert seen.histogram == Counter(time for time, _ in own)
    if own:
        assert (seen.low, seen.high) == (min(own)[0], max(own)[0])
        assert seen.ascends == ([row for _, row in sorted(own)] == list(range(own[0][1], own[0][1] + len(own))))
    if own and seen.ascends:
        assert seen.row == own[0][1]


def test_tuples_that_need_a_rule_are_not_told_at_a_glance():
    assert looked_at([1_000, None]) is None
    assert looked_at([400, 1_000], late=[LATE]) is None
    assert looked_at([400, 1_000]).count == 1
    assert looked_at([1_000, 2_000], takes_all=True) is None
    assert looked_at([1_000, 1_999], takes_all=True).count == 2


def test_a_row_group_is_passed_over_only_where_every_tuple_has_a_time():
    file = parquet([1, 2, 3, None, 1_000, 1_001, 5, 6], rows=2)
    assert _groups_apart(file.metadata, "ts", [PART]) == {0, 3}
    assert _groups_apart(file.metadata, "ts", [PART, LATE]) == frozenset()


def test_milliseconds_are_told_as_microseconds():
    assert glance(FILE, parquet([1, 1], unit="ms"), "ts", PART).histogram == Counter({1_000: 2})
