from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from panelake.errors import BadInputError, PartDownError
from panelake.slices import parse_instant
from panelake.worlds.generate import generate
from panelake.worlds.traffic import AREAS, SCHEMA, batches

START = parse_instant("2026-01-01T00:00:00Z")


def world(tuples=1_000, rate=500.0, seed=1) -> pa.Table:
    return pa.concat_tables(batches(tuples, rate, seed, START))


def test_the_same_seed_gives_the_same_tuples_and_another_others():
    assert world().equals(world())
    assert not world().equals(world(seed=2))


def test_tuples_come_in_time_order_at_the_rate_asked_for():
    times = world(tuples=5_000, rate=100.0)["ts"].cast(pa.int64()).to_numpy()
    assert (times[1:] >= times[:-1]).all()
    assert times[0] >= START
    assert times[-1] < START + 50 * 1_000_000


def test_every_area_reports_and_now_and_then_a_sensor_knows_no_car():
    table = world(tuples=20_000)
    assert table.schema == SCHEMA
    assert sorted(pc.unique(table["area_id"]).to_pylist()) == list(range(AREAS))
    assert 0 < table["car_id"].null_count < 200
    assert pc.min(table["speed"]).as_py() >= 0


def test_files_land_whole_in_a_folder_that_held_none(tmp_path):
    files = generate("traffic", 300_000, 500.0, 1, START, tmp_path / "landing", lambda _: None)
    assert [path.name for path in sorted((tmp_path / "landing").iterdir())] == [path.name for path in files]
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in files) == 300_000


def test_a_folder_with_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(BadInputError, match="holds files already"):
        generate("traffic", 10, 1.0, 1, START, tmp_path, lambda _: None)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("tuples", "rate", "seed", "said"),
    [
        (0, 1.0, 1, "--tuples 0: expected how many, at least 1"),
        (-1, 1.0, 1, "--tuples -1: expected"),
        (1, 0.0, 1, "--rate 0: expected tuples a second, a finite number above 0"),
        (1, float("nan"), 1, "--rate nan: expected"),
        (1, float("inf"), 1, "--rate inf: expected"),
        (1, 1.0, -1, "--seed -1: expected a whole number from 0"),
    ],
)
def test_what_cannot_be_generated_is_refused(tmp_path, tuples, rate, seed, said):
    with pytest.raises(BadInputError, match=said):
        generate("traffic", tuples, rate, seed, START, tmp_path / "out", lambda _: None)
    assert not (tmp_path / "out").exists()


def test_an_unknown_world_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(BadInputError, match=r"unknown world 'trafic'; expected one of .*traffic"):
        generate("trafic", 1, 1.0, 1, START, tmp_path / "out", lambda _: None)


def test_an_unwritable_folder_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PartDownError, match="cannot be written"):
        generate("traffic", 1, 1.0, 1, START, tmp_path / "file" / "out", lambda _: None)
