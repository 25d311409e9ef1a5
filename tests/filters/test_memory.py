"""What slices learned, as rows of a Delta table: who resumes what, whatever the order slices are run in."""

from __future__ import annotations

import numpy as np
import pytest

from panelake.catalog import Catalog
from panelake.filters import statistics as filter_statistics
from panelake.filters.memory import FilterMemory, Learned
from panelake.language.stream_filters import StreamFilter
from panelake.slices import Slice
from panelake.stages import filtering

MINUTE = 60_000_000
FILTERS = (StreamFilter("a", "`a` > 1"), StreamFilter("b", "`b` > 1"), StreamFilter("c", "`c` > 1"))
TYPES = {"a": "int", "b": "int", "c": "int", "ts": "timestamp"}
PLAIN = filtering.as_written(FILTERS, TYPES, "ts")


def minute(index):
    return Slice(index * MINUTE, (index + 1) * MINUTE)


@pytest.fixture
def memory(tmp_path):
    return FilterMemory(Catalog(str(tmp_path)))


def run(memory, index, sample, *, anew=False):
    """A slice as ingest runs it: opened, then learned from, unless it was run before."""
    opened = filtering.opened(memory, "s", minute(index), PLAIN, anew=anew)
    if opened.idle is not None:
        memory.record([opened.learned(minute(index), "s", 1_000, sample, {})])
    return opened


def test_nothing_is_known_of_a_new_stream(memory):
    assert memory.of_slice("stream", "s", minute(0)) is None
    assert memory.last("stream", "s", minute(0)) is None
    assert memory.history("stream", "s") == []
    opened = run(memory, 0, {0b011: 90, 0b111: 10})
    assert (opened.used, opened.every, opened.turn) == ((0, 1, 2), 100, 0)


def test_the_next_slice_resumes_what_the_last_one_left(memory):
    run(memory, 0, {0b011: 90, 0b111: 10})
    opened = run(memory, 1, {0b011: 90, 0b111: 10})
    assert opened.used[0] == 2
    assert (opened.before.samples, opened.turn) == (1, 1)


def test_history_resumes_what_a_later_slice_left(memory):
    """Slices ingested backwards learn in the order they are run in."""
    run(memory, 5, {0b011: 90, 0b111: 10})
    assert run(memory, 4, {}).used[0] == 2
    assert [known.slice for known in memory.history("stream", "s")] == [minute(5), minute(4)]


def test_a_slice_run_again_uses_its_order_and_learns_nothing(memory):
    run(memory, 0, {0b011: 90, 0b111: 10})
    run(memory, 1, {0b110: 5_000})
    before = memory.history("stream", "s")
    again = run(memory, 1, {0b110: 5_000})
    assert (again.used, again.every) == (before[1].used, 0)
    assert str(memory.history("stream", "s")) == str(before), "as text, since costs not measured are NaN"


def test_a_slice_with_other_tuples_starts_from_what_it_started_from_and_keeps_its_turn(memory):
    run(memory, 0, {0b011: 90, 0b111: 10})
    run(memory, 1, {0b011: 90, 0b111: 10})
    anew = run(memory, 0, {0b101: 90, 0b111: 10}, anew=True)
    assert (anew.before.samples, anew.turn) == (0, 0)
    first, second = memory.history("stream", "s")
    assert first.after["order"][0] == 1
    assert second.after["order"][0] == 2
    assert str(run(memory, 2, {}).before.to_row()) == str(dict(second.after)), "the last turn counts, not the last row"


def test_changed_filters_start_anew(memory):
    run(memory, 0, {0b011: 90, 0b111: 10})
    other = filtering.as_written(FILTERS[:2], TYPES, "ts")
    opened = filtering.opened(memory, "s", minute(1), other)
    assert (opened.before.samples, opened.used) == (0, (0, 1))


def test_what_is_stored_is_read_back_as_it_was(memory):
    known = filter_statistics.learn(
        PLAIN.before, PLAIN.chain, (np.array([3, 7]), np.array([9, 1])), np.array([1e-8, 2e-8, 3e-8])
    )
    learned = Learned("query", "q", minute(3), 2, (2, 0, 1), 77, PLAIN.before.to_row(), known.to_row(), 0.5)
    memory.record([learned])
    found = memory.of_slice("query", "q", minute(3))
    assert found.after == learned.after
    assert (found.used, found.turn, found.tuples, found.idle) == ((2, 0, 1), 2, 77, 0.5)
    assert np.isnan(found.before["costs"]).all()
    assert memory.of_slice("stream", "q", minute(3)) is None
