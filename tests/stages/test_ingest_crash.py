from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from panelake.spark import server

spec = importlib.util.spec_from_file_location("ingest_world", Path(__file__).with_name("ingest_world.py"))
ingest_world = importlib.util.module_from_spec(spec)
sys.modules["ingest_world"] = ingest_world
spec.loader.exec_module(ingest_world)
World = ingest_world.World

pytestmark = [pytest.mark.spark, pytest.mark.end_to_end]
FILES, ROWS = 4, 50_000


def landed(folder, master):
    """A slice that takes a while: shuffled tuples, many with the same time, and what bronze must hold of them."""
    world = World(folder, master, more='where: ["speed >= 0"]')
    generator = np.random.default_rng(5)
    expected = []
    for index in range(FILES):
        second = np.round(generator.uniform(0, 59, ROWS), 3)
        speed = generator.choice([1.0, -1.0], ROWS, p=[0.9, 0.1])
        times = (ingest_world.START + second * ingest_world.SECOND).astype(np.int64)
        columns = [np.arange(ROWS, dtype=np.int32), speed, pa.array(times, pa.timestamp("us", tz="UTC"))]
        world.land(f"{index}.parquet", pa.Table.from_arrays([pa.array(c) for c in columns], schema=ingest_world.SCHEMA))
        expected += [(time, index, car) for car, time in enumerate(times.tolist()) if speed[car] >= 0]
    return world, [car for _, _, car in sorted(expected)]


def start(world, *master):
    command = [sys.executable, "-m", "panelake.cli", "run", "--workspace", str(world.folder), *master]
    return subprocess.Popen(
        [*command, "--stage", "ingest", "--slice", "2026-01-01T00:00:00Z"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def await_file(path, process):
    deadline = time.monotonic() + 240
    while not path.exists():
        assert process.poll() is None, process.stdout.read()
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)


def assert_whole(world, cars):
    rows = world.bronze()
    assert [row["_seq"] for row in rows] == list(range(len(cars)))
    assert [row["car"] for row in rows] == cars


@pytest.mark.parametrize("moment", ["ledger/inputs/_delta_log/00000000000000000001.json", "bronze/cars"])
def test_a_client_killed_in_the_middle_of_an_ingest_leaves_nothing_that_a_second_run_does_not_mend(
    tmp_path, spark_server, moment
):
    world, cars = landed(tmp_path, spark_server)
    client = start(world, "--master", spark_server)
    await_file(world.folder / "warehouse" / moment, client)
    client.kill()
    client.communicate()
    assert client.returncode == -signal.SIGKILL
    assert world.ingest(ingest_world.minute(0)).details["accepted"] == len(cars)
    assert_whole(world, cars)


@pytest.mark.slow
@pytest.mark.timeout(900)  # two servers start, which takes minutes on a busy machine
@pytest.mark.usefixtures("other_home")
def test_a_server_killed_in_the_middle_of_an_ingest_is_noticed_at_once_and_a_second_run_mends_it(tmp_path):
    world, cars = landed(tmp_path, None)
    record = server.start(owner_pid=os.getpid())
    client = start(world)
    await_file(world.folder / "warehouse" / "bronze" / "cars", client)
    os.kill(record.pid, signal.SIGKILL)
    said, _ = client.communicate(timeout=60)
    assert client.returncode == 3, said
    assert b"went away" in said
    again = start(world)
    said, _ = again.communicate(timeout=400)
    assert again.returncode == 0, said
    assert_whole(world, cars)
