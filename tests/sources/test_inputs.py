from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.catalog import Catalog
from panelake.errors import BadInputError
from panelake.slices import Slice, merged
from panelake.sources import inputs
from panelake.sources.files import SourceFile
from panelake.sources.inputs import InputFile, Inputs, SliceInput, TimeSpan, choose_by_time, choose_unseen

MINUTE = 60_000_000


def minute(index: int) -> Slice:
    return Slice(index * MINUTE, (index + 1) * MINUTE)


def file(name: str, size: int = 1) -> SourceFile:
    return SourceFile(name, size, 0)


def test_only_files_that_overlap_are_taken_again_but_every_new_one_is_seen_once():
    old, here = file("old"), file("here")
    spans = {old: TimeSpan(0, 10), here: TimeSpan(MINUTE, MINUTE + 5)}
    first = choose_by_time(minute(0), [old, here], spans, {})
    assert first == (InputFile(old, fresh=True), InputFile(here, fresh=True))
    second = choose_by_time(minute(1), [old, here], spans, {minute(0): SliceInput(first)})
    assert second == (InputFile(here, fresh=False),)


def test_a_new_file_is_late_only_for_slices_that_were_done_without_it():
    new = file("new")
    spans = {new: TimeSpan(0, 3 * MINUTE)}
    recorded = {minute(0): SliceInput((InputFile(new, fresh=False),)), minute(1): SliceInput(())}
    assert choose_by_time(minute(2), [new], spans, recorded) == (InputFile(new, fresh=True, late=(minute(1),)),)


def test_an_older_slice_takes_no_late_tuples():
    new = file("new")
    recorded = {minute(5): SliceInput(())}
    chosen = choose_by_time(minute(4), [new], {new: TimeSpan(0, 9 * MINUTE)}, recorded)
    assert chosen == (InputFile(new, fresh=False),)


def test_a_file_whose_times_are_not_known_is_always_read():
    unknown = file("unknown")
    recorded = {minute(0): SliceInput((InputFile(unknown, fresh=True),))}
    assert choose_by_time(minute(1), [unknown], {}, recorded) == (InputFile(unknown, fresh=False),)


# A file lands before some step of the run and holds tuples of some minutes; steps run slices in any order.
LANDINGS = st.lists(st.tuples(st.integers(0, 6), st.lists(st.integers(0, 5), min_size=1, max_size=4)), max_size=6)


@given(LANDINGS, st.permutations(range(6)))
def test_whatever_the_order_of_slices_no_tuple_is_taken_twice_and_the_newest_slice_leaves_none(landings, order):
    files = [(file(f"f{index}"), step, minutes) for index, (step, minutes) in enumerate(landings)]
    spans = {f: TimeSpan(min(ms) * MINUTE, max(ms) * MINUTE) for f, _, ms in files}
    recorded: dict[Slice, SliceInput] = {}
    taken: Counter[tuple[str, int]] = Counter()
    for step, index in enumerate([*order, 6]):
        part = minute(index)
        listing = [f for f, landed, _ in files if landed <= step]
        recorded[part] = SliceInput(choose_by_time(part, listing, spans, recorded))
        for chosen in recorded[part].files:
            minutes = next(ms for f, _, ms in files if f == chosen.file)
            mine = {m for m in minutes if minute(m) == part or any(s.start <= m * MINUTE < s.end for s in chosen.late)}
            taken.update((chosen.file.path, m) for m in mine)
    assert taken == Counter({(f.path, m): 1 for f, _, ms in files for m in set(ms)})


def test_files_by_arrival_are_taken_by_one_slice_alone():
    a, b = file("a"), file("b")
    first = choose_unseen([a], {})
    assert choose_unseen([a, b], {minute(0): SliceInput(first)}) == (InputFile(b, fresh=True),)


@given(st.sets(st.integers(0, 30)))
def test_merged_spans_cover_the_same_minutes(indices):
    spans = merged(minute(index) for index in indices)
    covered = [m for m in range(31) if any(s.start <= m * MINUTE < s.end for s in spans)]
    assert covered == sorted(indices)
    assert all(one.end < other.start for one, other in pairwise(spans))


def test_what_is_recorded_counts_until_it_is_recorded_anew(tmp_path):
    memory = Inputs(Catalog(str(tmp_path)), "cars")
    first = SliceInput((InputFile(file("a"), fresh=True, late=(minute(0),)),), (minute(0),), (), {"where": []})
    other = SliceInput((InputFile(file("b"), fresh=True),), (), (minute(3),), {"where": []})
    assert memory.record(minute(1), first) == first
    assert memory.record(minute(1), other) == first
    assert memory.record(minute(1), other, anew=True) == other
    assert memory.recorded() == {minute(1): other}
    assert Inputs(Catalog(str(tmp_path)), "trucks").recorded() == {}
    assert inputs.changes(first, other) == {"added": ["b"], "gone": ["a"], "changed": []}


def test_spans_are_remembered_once_they_are_known(tmp_path):
    memory = Inputs(Catalog(str(tmp_path)), "cars")
    memory.remember({file("a"): TimeSpan(1, 2), file("b"): inputs.UNKNOWN})
    memory.remember({file("b"): inputs.NOTHING})
    assert memory.spans() == {file("a"): TimeSpan(1, 2), file("b"): inputs.NOTHING}
    assert not inputs.NOTHING.overlaps(minute(0))


def test_a_changed_file_is_refused_for_every_slice_that_took_it():
    recorded = {minute(0): SliceInput((InputFile(file("a"), fresh=True),))}
    inputs.require_unchanged("cars", recorded, [file("a"), file("new")])
    with pytest.raises(BadInputError, match=r"a changed since slice .* 1 bytes then, 7 now"):
        inputs.require_unchanged("cars", recorded, [file("a", size=7)])
