"""The model on paper: worked by hand, monotone, its constants the code's."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panelake.capacity import rates as kept
from panelake.capacity.design import (
    AS_IS,
    BLOCK_BYTES,
    COMPACTED_BYTES,
    MOST_RANGES,
    SCAN_BYTES,
    TUPLES_A_RANGE,
    Cluster,
    changed,
)
from panelake.capacity.limits import LIMITS, World, day_of_breaking, reached_at
from panelake.capacity.load import Load
from panelake.capacity.sizing import cores_needed, quantities, shuffled_bytes, slice_seconds
from panelake.capacity.stages import NUMBER, StageNeed, logged_files, ranges, recall_seconds, stage_needs
from panelake.errors import BadInputError
from panelake.flow import STAGES
from panelake.maintenance.compact import FILE_BYTES
from panelake.sources.source import _BLOCK_BYTES
from panelake.spark import numbering
from panelake.spark.settings import CLIENT

from .paper import RATES

CLUSTER = Cluster()
WORLD = World(RATES, AS_IS, CLUSTER)
MILLION = Load(1e6)
RATE = st.floats(1e3, 1e9)


def test_what_the_code_has_is_what_the_model_takes():
    assert (TUPLES_A_RANGE, MOST_RANGES) == (numbering.TUPLES_PER_RANGE, numbering.MAX_RANGES)
    assert (BLOCK_BYTES, COMPACTED_BYTES) == (_BLOCK_BYTES, FILE_BYTES)
    assert f"{SCAN_BYTES / 2**20:.0f}m" == CLIENT["spark.sql.files.maxPartitionBytes"]


def test_stages_are_those_of_the_flow_and_the_numbering_commit():
    names = [need.name for need in stage_needs(MILLION, RATES, AS_IS)]
    assert names == ["ingest", NUMBER, *(stage.name for stage in STAGES[1:])]


def test_worked_by_hand():
    """
    1,000,000 tuples/s in slices of 100 s, 10 groups, one query of 20 s every 10 s over units of 10 s, a tenth joined
    over 100 s: 100 M tuples, 10 units × 10 groups = 100 pane rows, read with the 20 before: 120, 100 answers.
    """
    load = Load(1e6, slice_seconds=100, groups=10, queries=1, unit_seconds=10, range_seconds=20, slide_seconds=10,
                joined_share=0.1, join_range_seconds=100, days=0)  # fmt: skip
    assert load.pane_rows == pytest.approx(100)
    assert load.pane_reads == pytest.approx(120)
    assert load.answers == pytest.approx(100)
    assert load.joined_tuples == pytest.approx(20e6)
    work = {need.name: need.work for need in stage_needs(load, RATES, AS_IS)}
    assert work["ingest"] == pytest.approx(1000)
    assert work["panes"] == pytest.approx(100 + 100 / 500_000)
    assert work["windows"] == pytest.approx(120 / 1e6)
    assert work["join"] == pytest.approx(80)
    assert work["audit"] == pytest.approx(50)
    assert shuffled_bytes(load, RATES, AS_IS) == pytest.approx((100e6 * 30 + 120 * 35 + 20e6 * 32) / 100)
    # 100 M tuples: 100 ranges, source 2 GB in 14.9 blocks read twice, each task 2 ms of the driver.
    [ingest] = [need for need in stage_needs(load, RATES, AS_IS) if need.name == "ingest"]
    assert ranges(load) == 100
    assert ingest.tasks == pytest.approx(2 * 2e9 / 2**27 + 100)
    # Serial: 7 stages of 1 s, windows 0.1 s more, the number 0.05, 100 answers 0.001, log of 864 · 100 files: 0.864.
    serial = sum(need.serial for need in stage_needs(load, RATES, AS_IS))
    assert serial == pytest.approx(7 + 0.1 + 0.05 + 0.001 + 0.864)


def test_cores_are_the_least_that_keep_up():
    load = replace(MILLION, days=0.01)
    cores = cores_needed(load, RATES, AS_IS, CLUSTER)
    assert cores is not None
    wanted = CLUSTER.utilisation * load.slice_seconds
    assert slice_seconds(load, RATES, AS_IS, cores) <= wanted < slice_seconds(load, RATES, AS_IS, cores - 1)


def test_no_number_of_cores_helps_where_what_is_serial_takes_too_long():
    assert cores_needed(Load(1e6, slice_seconds=8), RATES, AS_IS, CLUSTER) is None


def test_a_stage_uses_no_more_cores_than_the_driver_keeps_busy():
    need = StageNeed("s", serial=1, work=100, tasks=50, task_seconds=0.1)
    assert need.most_cores == 20
    assert need.seconds(10) == 11
    assert need.seconds(1_000) == 6
    assert replace(need, task_seconds=0.001).most_cores == 50


def test_shards_leave_the_whole_as_it_is():
    whole, parts = quantities(MILLION, RATES, AS_IS), quantities(MILLION, RATES, replace(AS_IS, shards=4))
    for name in ("source bytes", "bronze", "shuffle", "pane rows", "answers"):
        assert parts[name][0] == pytest.approx(whole[name][0], rel=1e-6)
    assert parts["commits"][0] == pytest.approx(4 * whole["commits"][0])


@given(RATE, st.floats(1.1, 10))
def test_more_tuples_never_take_less(rate, times):
    few, many = Load(rate), Load(rate * times)
    for one, other in zip(stage_needs(few, RATES, AS_IS), stage_needs(many, RATES, AS_IS), strict=True):
        assert other.serial >= one.serial * (1 - 1e-9)
        assert other.work >= one.work * (1 - 1e-9)
    less, more = (quantities(load, RATES, AS_IS) for load in (few, many))
    assert all(more[name][0] >= less[name][0] * (1 - 1e-6) for name in less)


@given(RATE, st.integers(1, 1_000_000))
def test_panes_are_no_more_than_tuples_and_than_groups_of_every_unit(rate, groups):
    load = Load(rate, groups=groups)
    assert load.pane_rows <= load.tuples * (1 + 1e-9)
    assert load.pane_rows <= groups * load.slice_seconds / load.unit_seconds * (1 + 1e-6)


@given(RATE)
def test_cores_needed_grow_with_the_rate(rate):
    one, other = (cores_needed(Load(at, days=0.01), RATES, AS_IS, CLUSTER) for at in (rate, 2 * rate))
    assert other is None or (one is not None and one <= other)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_a_limit_is_reached_where_it_is_told(limit):
    at = reached_at(limit, MILLION, WORLD)
    if at is not None:
        assert limit.used(MILLION.at(at * 0.999), WORLD) <= 1 < limit.used(MILLION.at(at * 1.001), WORLD)
    days = day_of_breaking(limit, MILLION, WORLD)
    if days:
        assert limit.used(replace(MILLION, days=days * 0.999), WORLD) <= 1
        assert limit.used(replace(MILLION, days=days * 1.001), WORLD) > 1


def test_the_memory_of_files_grows_with_the_square_of_the_rate():
    """One million: 6 GB a slice are 44.7 files of 128 MB, 12,875 a day; each known costs 10 µs and 44.7 × 0.1 µs."""
    files = 1e6 * 300 * 20 / 2**27
    assert recall_seconds(MILLION, RATES) == pytest.approx(files * 288 * (1e-5 + files * 1e-7))
    far = recall_seconds(MILLION.at(1e9), RATES) / recall_seconds(MILLION.at(1e8), RATES)
    assert far == pytest.approx(100, rel=0.05)


def test_days_that_are_over_are_compacted_in_the_log():
    day = 1e6 * 86_400 * 25 / 2**27
    assert logged_files(replace(MILLION, days=10), RATES) == pytest.approx(300 * 288 + 10 * day)
    assert logged_files(replace(MILLION, days=1_000), RATES) == logged_files(replace(MILLION, days=90), RATES)


def test_what_is_changed_removes_what_it_is_meant_to():
    world = replace(WORLD, design=replace(changed(1e6), name="x"))
    load = replace(MILLION, days=365)
    by_name = {limit.name: limit for limit in LIMITS}
    for name in ("memory of files", "ledger's history", "answers"):
        assert by_name[name].used(load, WORLD) > by_name[name].used(load, world) == 0
    assert by_name["driver's tasks"].used(load, WORLD) > by_name["driver's tasks"].used(load, world)
    assert changed(1e8).shards == 20


def test_a_load_of_nothing_is_refused():
    with pytest.raises(ValueError, match="0 tuples/s"):
        Load(0)


def test_rates_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "rates.json"
    kept.write(kept.Measured({"cores": 2}, RATES), path)
    assert kept.read(path) == kept.Measured({"cores": 2}, RATES)
    path.write_text(path.read_text().replace('"task"', '"tusk"'))
    with pytest.raises(BadInputError, match="task is missing or unknown"):
        kept.read(path)
    with pytest.raises(BadInputError, match="holds no rates"):
        kept.read(tmp_path / "none.json")


@pytest.mark.parametrize("name", [field.name for field in fields(RATES)])
def test_every_rate_changes_something(name):
    """A rate that nothing depends on would be measured for nothing."""
    value = getattr(RATES, name)
    other = {key: 2 * one for key, one in value.items()} if isinstance(value, dict) else value * 2
    assert _everything(replace(RATES, **{name: other})) != _everything(RATES)


def _everything(rates):
    world = World(rates, AS_IS, CLUSTER)
    in_order = slice_seconds(MILLION, rates, replace(AS_IS, in_order=True), 100)
    return (
        quantities(MILLION, rates, AS_IS),
        slice_seconds(MILLION, rates, AS_IS, 100),
        in_order,
        [reached_at(limit, MILLION, world) for limit in LIMITS],
    )
