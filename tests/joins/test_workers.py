"""The workers over Arrow batches, without Spark: results against brute force, states against one uncut run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.joins.streams import headlines

from panelake import join_memory
from panelake.join_memory import logical_partitions, memory_of
from panelake.kernels.joins.arrivals import Arrivals, arrivals
from panelake.kernels.joins.join_spec import JoinSpec
from panelake.kernels.joins.naive import join_naively
from panelake.spark.join_worker import KEY, OWN, SEQ, SLICE, STREAM, TS, JoinTask, join_partition, numbered
from panelake.spark.shed_worker import FACTS, HELD, PARTITION, STATE, shed_partition, unpacked_snapshot
from panelake.stages.join_state import with_shared_statistics

ALIASES = "abcdefgh"
Combination = tuple[int, ...]


def schema_of(streams: int) -> pa.Schema:
    names = [f"{column}_{alias}" for column in (SEQ, TS) for alias in ALIASES[:streams]]
    numbers = [(name, pa.int64()) for name in ("_window_end", SLICE, KEY, *names)]
    return pa.schema([*numbers, *((f"{alias}/x", pa.string()) for alias in ALIASES[:streams])])


def task_of(spec: JoinSpec, emit_from: int | None = None) -> JoinTask:
    aliases = tuple(ALIASES[: spec.streams])
    return JoinTask(spec, tuple((f"{alias}/x",) for alias in aliases), aliases, schema_of(spec.streams), emit_from)


def rows_of(batch: Arrivals, streams: int, own_from: int = -(2**62)) -> pa.Table:
    """Tuples as the stage gives them: the id is the sequence number, its text what the tuple carries."""
    columns = {
        TS: pa.array(batch.ts),
        STREAM: pa.array(batch.stream.astype(np.int32)),
        KEY: pa.array(batch.key),
        SEQ: pa.array(batch.id),
        SLICE: pa.array(np.where(batch.ts >= own_from, 7, 5)),
        OWN: pa.array(batch.ts >= own_from),
    }
    for place, alias in enumerate(ALIASES[:streams]):
        values = [
            f"t{n}" if s == place else None for n, s in zip(batch.id.tolist(), batch.stream.tolist(), strict=True)
        ]
        columns[f"{alias}/x"] = pa.array(values, pa.string())
    return pa.table(columns)


def cut(rows: pa.Table, size: int) -> Iterator[pa.RecordBatch]:
    return iter(rows.to_batches(max_chunksize=size))


def combinations(batches: list[pa.RecordBatch], streams: int) -> dict[Combination, int]:
    found: dict[Combination, int] = {}
    for batch in batches:
        for row in batch.to_pylist():
            numbers = tuple(row[numbered(SEQ, alias)] for alias in ALIASES[:streams])
            assert numbers not in found, "each combination once"
            assert [row[f"{alias}/x"] for alias in ALIASES[:streams]] == [f"t{n}" for n in numbers]
            found[numbers] = row["_window_end"]
    return found


@st.composite
def worlds(draw: st.DrawFn) -> tuple[JoinSpec, Arrivals]:
    streams = draw(st.integers(2, 3))
    ranges = tuple(draw(st.lists(st.integers(1, 30), min_size=streams, max_size=streams)))
    slide = draw(st.sampled_from([4, 6, 12]))
    every = draw(st.sampled_from([one for one in range(1, slide + 1) if slide % one == 0]))
    row = st.tuples(st.integers(0, 60), st.integers(0, streams - 1), st.sampled_from([0, 5, -3]))
    rows = sorted(draw(st.lists(row, max_size=24)))
    ts, stream, key = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return JoinSpec(ranges, slide, every), arrivals(ts, stream, key, np.arange(len(rows)) * 2 + 10)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(1, 9), st.integers(0, 60))
def test_results_are_brute_force_for_every_cut_and_period(
    world: tuple[JoinSpec, Arrivals], size: int, since: int
) -> None:
    spec, batch = world
    rows = rows_of(batch, spec.streams, since)
    found = combinations(list(join_partition(cut(rows, size), task_of(spec, since))), spec.streams)
    times = dict(zip(batch.id.tolist(), batch.ts.tolist(), strict=True))
    wanted = join_naively(spec, batch)
    assert found == {ids: end for ids, end in wanted.items() if max(times[i] for i in ids) >= since}


def shed_in_slices(
    spec: JoinSpec, batch: Arrivals, borders: list[int]
) -> tuple[dict[Combination, int], pa.RecordBatch]:
    """One slice after another, each from the state that the one before gave."""
    found: dict[Combination, int] = {}
    state: pa.RecordBatch | None = None
    for low, high in pairwise(borders):
        mine = (batch.ts >= low) & (batch.ts < high)
        rows = _with_state(rows_of(Arrivals(*(column[mine] for column in batch)), spec.streams), state)
        came = list(shed_partition(cut(rows, 5), task_of(spec)))
        results = [one.filter(one[STATE].is_null()) for one in came]
        found |= combinations([one.select(schema_of(spec.streams).names) for one in results], spec.streams)
        states = [one for one in came if one[STATE].null_count == 0]
        state = states[-1] if states else state
    assert state is not None
    return found, state


def _with_state(rows: pa.Table, state: pa.RecordBatch | None) -> pa.Table:
    empty = {PARTITION: pa.array([0] * rows.num_rows, pa.int32())}
    empty |= {name: pa.nulls(rows.num_rows, pa.binary()) for name in (STATE, HELD)}
    for name, column in empty.items():
        rows = rows.append_column(name, column)
    if state is None:  # as Spark gives them where no state comes with them: a hash is never NULL
        place = rows.schema.get_field_index(KEY)
        return rows.cast(rows.schema.set(place, pa.field(KEY, pa.int64(), nullable=False)))
    first = dict.fromkeys(rows.column_names) | {TS: -(2**63), STREAM: 0, SEQ: 0, PARTITION: 0}
    first |= {name: state[name][0].as_py() for name in (STATE, HELD)}
    return pa.concat_tables([pa.Table.from_pylist([first], schema=rows.schema), rows]).combine_chunks()


@settings(max_examples=40, deadline=None)
@given(worlds(), st.integers(1, 4), st.sampled_from(["arrival_order", "existence_growth", "oldest", "random"]))
def test_states_make_slices_one_run(world: tuple[JoinSpec, Arrivals], memory: int, policy: str) -> None:
    spec, batch = world
    spec = JoinSpec(spec.ranges, spec.slide, spec.every, memory=memory, policy=policy)
    if not len(batch.ts):
        return
    whole, last = shed_in_slices(spec, batch, [0, 61])
    sliced, final = shed_in_slices(spec, batch, [0, 10, 13, 37, 61])
    assert sliced == whole
    assert whole.items() <= join_naively(spec, batch).items(), "shedding only takes away"
    one, other = unpacked_snapshot(last[STATE][0].as_py()), unpacked_snapshot(final[STATE][0].as_py())
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize(("policy", "results"), [("arrival_order", 3), ("frequency", 1), ("result", 1), ("oldest", 2)])
def test_the_headlines_with_four_slots(policy: str, results: int) -> None:
    batch, _ = headlines()
    spec = JoinSpec((1000,) * 4, 1000, memory=4, policy=policy)
    found, state = shed_in_slices(spec, batch, [0, 9, 20, 40])
    assert len(found) == results
    assert '"held": [4, 4, 4, 4]' in state[FACTS][0].as_py()


def test_logical_partitions_share_the_memory_and_what_they_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two partitions by key, one after another: each keeps to its share; both go on from the sum of what is learnt."""
    monkeypatch.setattr(join_memory, "ROWS_A_PARTITION", 4)
    count = 120
    ts = np.arange(count)
    batch = arrivals(ts, ts % 2, ts * 7 % 11, ts)
    spec = JoinSpec((40, 40), 10, memory=5, policy="arrival_order")
    rows = _with_state(rows_of(batch, 2), None)
    rows = rows.set_column(rows.schema.get_field_index(PARTITION), PARTITION, pa.array(batch.key % 2, pa.int32()))
    came = list(shed_partition(cut(rows.sort_by([(PARTITION, "ascending"), (TS, "ascending")]), 7), task_of(spec)))
    results = [one.select(schema_of(2).names) for one in came if one[STATE].null_count]
    states = {row[PARTITION]: row for one in came if not one[STATE].null_count for row in one.to_pylist()}
    assert combinations(results, 2).items() <= join_naively(spec, batch).items()
    assert {n: max(json.loads(row[FACTS])["held"]) for n, row in states.items()} == {0: 3, 1: 2}
    after = {n: unpacked_snapshot(row[STATE]) for n, row in states.items()}
    shared = with_shared_statistics(after, {})
    for name in ("pattern_given", "pattern_shed", "sample_sums"):
        np.testing.assert_array_equal(shared[0][name], after[0][name] + after[1][name])
        np.testing.assert_array_equal(shared[0][name], shared[1][name])
    again = with_shared_statistics(shared, shared)
    np.testing.assert_array_equal(again[1]["pattern_given"], shared[1]["pattern_given"])


def test_a_key_with_many_tuples_is_streamed_out() -> None:
    """10,000 tuples a stream are 100 million results: batches come one by one, and memory stays small."""
    count = 10_000
    ts = np.arange(2 * count)
    rows = rows_of(arrivals(ts, ts % 2, np.zeros(2 * count), ts), 2)
    before = pa.total_allocated_bytes()
    most = came = 0
    for batch in join_partition(cut(rows, 4096), task_of(JoinSpec((10**6, 10**6), 10**6))):
        came += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before)
        if came > 5_000_000:
            break
    assert most < 64_000_000


def test_shares_of_memory_add_up() -> None:
    for memory in (1, 99_999, 100_000, 100_001, 250_003, 10**7):
        partitions = logical_partitions(memory)
        assert sum(memory_of(p, memory) for p in range(partitions)) == memory
    assert [logical_partitions(n) for n in (1, 99_999, 100_000, 100_001, 1_000_000)] == [1, 1, 1, 2, 10]
