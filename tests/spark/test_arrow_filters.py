"""Python predicates in a learned order: same rows, guards kept, mistakes named; no Spark session needed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.errors import BadInputError
from panelake.filters import statistics as filter_statistics
from panelake.spark.arrow_filters import ASKED, SAMPLED, Predicate, judge_batch, placed_predicates, time_batch

PREDICATES = [
    Predicate("often", lambda rows: pc.less(rows["a"], 90), commutative=True),
    Predicate("half", lambda rows: pc.less(rows["b"], 50), commutative=True),
    Predicate("seldom", lambda rows: pc.less(rows["c"], 10), commutative=True),
]


def batch_of(seed, rows=2_000):
    random = np.random.default_rng(seed)
    columns = {
        name: pa.array(random.integers(0, 100, rows), mask=random.random(rows) < 0.1) for name in ("a", "b", "c")
    }
    return pa.RecordBatch.from_pydict(columns | {"id": np.arange(rows) + seed * rows})


def run(batch, predicates, known=None, every=10):
    """The answer, and the ids of the rows kept; one row in `every` is sampled."""
    known = filter_statistics.start(placed_predicates(predicates)) if known is None else known
    ids = batch["id"].to_numpy()
    answer = judge_batch(batch, np.where(ids % every == 0, SAMPLED, ASKED), predicates, known)
    return answer, ids[answer.outcomes == (1 << len(predicates)) - 1].tolist()


def kept_by_all(batch, predicates):
    passed = [pc.is_in(predicate.function(batch), pa.array([True])).to_pylist() for predicate in predicates]
    return [
        number for number, all_of in zip(batch["id"].to_pylist(), zip(*passed, strict=True), strict=True) if all(all_of)
    ]


@given(seed=st.integers(0, 500), order=st.permutations(range(3)), every=st.sampled_from([1, 3, 50]))
@settings(max_examples=30, deadline=None)
def test_the_rows_kept_are_the_same_however_predicates_are_written(seed, order, every):
    batch = batch_of(seed, rows=300)
    written = [PREDICATES[number] for number in order]
    assert run(batch, written, every=every)[1] == kept_by_all(batch, PREDICATES)


def test_the_order_is_learned_from_a_batchs_sample_and_remembered():
    """Costs are measured and may differ; here what drops most is an equally cheap comparison."""
    answer, _ = run(batch_of(1, rows=20_000), PREDICATES)
    assert answer.statistics.order[0] == 2
    assert (answer.statistics.costs > 0).all()
    again, _ = run(batch_of(2, rows=20_000), PREDICATES, answer.statistics)
    assert again.statistics.profile.weight > answer.statistics.profile.weight
    resumed = filter_statistics.resume(again.statistics.to_row(), placed_predicates(PREDICATES))
    assert resumed.order == again.statistics.order


def test_sampled_rows_are_the_same_in_every_run():
    batch = batch_of(3)
    first, second = (run(batch, PREDICATES)[0].statistics.profile for _ in range(2))
    assert first.outcomes.tolist() == second.outcomes.tolist()
    assert first.weights.tolist() == second.weights.tolist()


def test_a_predicate_meets_only_rows_that_passed_those_before_it():
    met = []

    def second(rows):
        met.append(rows["b"].to_pylist())
        return pc.less(rows["a"], 101)

    run(batch_of(4), [PREDICATES[1], Predicate("second", second)])
    assert met
    assert all(value is not None and value < 50 for values in met for value in values)


def reciprocal(rows):
    if 0 in rows["a"].to_pylist():
        raise ZeroDivisionError("a is 0")
    return pc.equal(rows["a"], 7)


def test_what_may_raise_is_never_moved_before_its_guard():
    guard = Predicate("guard", lambda rows: pc.not_equal(rows["a"], 0), commutative=True)
    answer, _ = run(batch_of(5), [guard, Predicate("reciprocal", reciprocal), PREDICATES[2]], every=1)
    assert answer.statistics.order == (0, 1, 2)
    with pytest.raises(BadInputError, match=r"filters.py: reciprocal\(\) raised ZeroDivisionError: a is 0"):
        run(batch_of(5), [guard, Predicate("reciprocal", reciprocal, commutative=True)], every=1)


def test_borders_are_told_with_their_reason():
    chain = placed_predicates([PREDICATES[0], Predicate("own", reciprocal), PREDICATES[1], PREDICATES[2]])
    assert [placed.segment for placed in chain] == [0, 1, 2, 2]
    assert chain[1].fixed == "own() may raise and is not declared commutative"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (lambda rows: rows["a"], "int64 of 20"),
        (lambda _: pa.array([True]), "bool of 1"),
        (lambda _: [True] * 20, "list"),
    ],
)
def test_an_answer_that_is_not_a_boolean_a_row_is_refused(answer, shown):
    with pytest.raises(BadInputError, match=rf"odd\(\) gave {shown}; expected an Arrow array of 20 booleans"):
        run(batch_of(6, rows=20), [Predicate("odd", answer)], every=1)


def test_an_empty_batch_is_an_empty_answer():
    answer, kept = run(batch_of(7, rows=0), PREDICATES)
    assert kept == []
    assert answer.statistics.order == (0, 1, 2)


def test_no_predicates_keep_all():
    assert len(run(batch_of(8), [])[1]) == 2_000


def test_rows_not_asked_for_meet_no_predicate():
    met = []

    def all_of_them(rows):
        met.append(rows.num_rows)
        return pc.less(rows["id"], 1 << 40)

    batch, predicate = batch_of(9, rows=100), Predicate("all_of_them", all_of_them)
    known = filter_statistics.start(placed_predicates([predicate]))
    answer = judge_batch(batch, np.array([ASKED] * 30 + [0] * 60 + [SAMPLED] * 10), [predicate], known)
    assert sorted(met) == [10, 30]
    assert answer.outcomes.tolist() == [1] * 30 + [0] * 60 + [1] * 10


def test_predicates_are_timed_behind_their_guards():
    guard = Predicate("guard", lambda rows: pc.not_equal(rows["a"], 0), commutative=True)
    nobody = Predicate("nobody", lambda rows: pc.less(rows["id"], 0))
    costs = time_batch(batch_of(5), [guard, Predicate("reciprocal", reciprocal), nobody, PREDICATES[0]])
    assert all(cost > 0 for cost in costs[:3])
    assert np.isnan(costs[3])
