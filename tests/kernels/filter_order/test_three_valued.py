"""Any order keeps the same rows: conditions with NULLs, in three-valued logic, through a small evaluator of SQL."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panelake.baselines.filter_policies import NAMES, policy_named
from panelake.kernels.filter_order.batch import Batch

COLUMNS = 3


def compared(condition, row):
    _, column, value = condition
    return None if row[column] is None else row[column] < value


def both(condition, row):
    sides = [truth(side, row) for side in condition[1:]]
    return False if False in sides else None if None in sides else True


def either(condition, row):
    sides = [truth(side, row) for side in condition[1:]]
    return True if True in sides else None if None in sides else False


def negated(condition, row):
    value = truth(condition[1], row)
    return None if value is None else not value


def unknown(condition, row):
    return truth(condition[1], row) is None


MEANING = {"<": compared, "and": both, "or": either, "not": negated, "is null": unknown}


def truth(condition, row):
    """TRUE, FALSE or NULL (None) of a condition for a row."""
    return MEANING[condition[0]](condition, row)


comparisons = st.tuples(st.just("<"), st.integers(0, COLUMNS - 1), st.integers(-2, 3))
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.sampled_from(["not", "is null"]), inner),
    ),
    max_leaves=6,
)
rows_of_data = st.lists(st.tuples(*[st.none() | st.integers(-2, 2)] * COLUMNS), min_size=1, max_size=60)


def conjunction(parts, row):
    """The whole WHERE as one condition, as SQL defines it."""
    whole = parts[0]
    for other in parts[1:]:
        whole = ("and", whole, other)
    return truth(whole, row)


@given(parts=st.lists(conditions, min_size=1, max_size=4), data=rows_of_data, seed=st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_every_policy_keeps_the_rows_for_which_the_whole_where_is_true(parts, data, seed):
    wanted = [conjunction(parts, row) is True for row in data]
    passes = np.array([[truth(part, row) is True for part in parts] for row in data])
    batch = Batch(passes, np.arange(len(data)), np.ones(len(parts)))
    for name in NAMES:
        policy = policy_named(name, seed)
        assert policy.route(policy.start(len(parts)), batch).kept.tolist() == wanted


@given(parts=st.lists(conditions, min_size=2, max_size=4), data=rows_of_data)
@settings(max_examples=60, deadline=None)
def test_a_where_in_any_order_keeps_the_same_rows(parts, data):
    kept = {tuple(conjunction(order, row) is True for row in data) for order in permutations(parts)}
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (("<", 0, 1), None),
        (("and", ("<", 0, 1), ("<", 1, 0)), False),
        (("or", ("<", 0, 1), ("<", 1, 9)), True),
        (("not", ("<", 0, 1)), None),
        (("is null", ("<", 0, 1)), True),
    ],
)
def test_the_evaluator_knows_null(condition, value):
    assert truth(condition, (None, 5, 0)) is value
