"""Files that change under a run: truncated, replaced, there by half, or written while they are read.

A file that was taken and is another now is refused by name, and nothing of it gets in; put back, or taken as it is with
--again --refresh --restate, it leads to the tables of an undisturbed run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from panelake.catalog import Catalog
from panelake.slices import Slice
from panelake.sources.inputs import Inputs

from .breaking import killed
from .tally import Tally, Trial, trials
from .world import World, rows_of

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(900)]

ANEW = ("--again", "--refresh", "--restate")
_LINES_A_STEP = 4


def recorded(world: World, part: Slice) -> bool:
    """Whether what the slice takes is recorded for both streams."""
    catalog = Catalog(str(world.warehouse))
    return all(part in Inputs(catalog, stream).recorded() for stream in ("cars", "calls"))


def drawn_file(world: World, trial: Trial, part: Slice) -> Path:
    return trial.chance.choice([world.cars_of, world.calls_of])(part)


def put_back(file: Path, content: bytes, modified: int) -> None:
    file.write_bytes(content)
    os.utime(file, ns=(modified, modified))


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_file_is_truncated_between_runs(world: World, tally: Tally, _: int) -> None:
    with tally.trial("file truncated") as trial:
        before, part = rows_of(world.warehouse), world.next_slice()
        file = drawn_file(world, trial, part)
        content, modified = file.read_bytes(), file.stat().st_mtime_ns
        with world.running(part) as client:
            while not recorded(world, part):
                assert client.poll() is None
                time.sleep(0.05)
            time.sleep(trial.chance.uniform(0, 2))
            assert killed(client)
        file.write_bytes(content[: trial.chance.randrange(len(content))])
        trial.hit = True
        assert f"{file.name} changed since slice" in world.run(part, code=2)
        world.assert_consistent(trial, before)
        put_back(file, content, modified)
        world.run(part)
        world.assert_healed(trial)


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_file_is_replaced_between_runs(world: World, tally: Tally, _: int) -> None:
    with tally.trial("file replaced") as trial:
        done = world.slice(world.number - 1)
        part = world.next_slice()
        before = rows_of(world.warehouse)
        file = drawn_file(world, trial, done)
        content, modified = file.read_bytes(), file.stat().st_mtime_ns
        file.write_bytes(trial.chance.randbytes(len(content)))
        trial.hit = True
        for one, more in ((part, ()), (done, ("--again",))):
            assert f"{file.name} changed since slice" in world.run(one, code=2, more=more)
        world.assert_consistent(trial, before)
        put_back(file, content, modified)
        world.run(part)
        world.assert_healed(trial)


@pytest.mark.parametrize("_", range(trials(1)))
def test_half_a_file_is_there_at_first(world: World, tally: Tally, _: int) -> None:
    """A sender that does not rename what it wrote: half is taken or refused, then the whole is asked for."""
    with tally.trial("half a file") as trial:
        before, part = rows_of(world.warehouse), world.next_slice()
        file = drawn_file(world, trial, part)
        content, modified = file.read_bytes(), file.stat().st_mtime_ns
        file.write_bytes(content[: trial.chance.randrange(len(content) // 4, len(content))])
        trial.hit = True
        with world.running(part) as client:
            said, _ = client.communicate(timeout=400)
        assert client.returncode in {0, 1, 2, 3}, said
        put_back(file, content, modified)  # the undisturbed run goes on with it
        assert_as_undisturbed(world, trial, part)
        assert before.keys() <= rows_of(world.warehouse).keys()


@pytest.mark.parametrize("_", range(trials(1)))
def test_a_source_is_slow(world: World, tally: Tally, _: int) -> None:
    """A sender that writes line by line while the slice is run; the fault hits where the run took less than all."""
    with tally.trial("slow source") as trial:
        part = world.next_slice()
        file = world.calls_of(part)
        lines, modified = file.read_bytes().splitlines(keepends=True), file.stat().st_mtime_ns
        pause = trial.chance.uniform(0.2, 0.8)
        file.write_bytes(b"")
        sender = threading.Thread(target=send, args=(file, lines, lambda: time.sleep(pause)))
        sender.start()
        with world.running(part) as client:
            said, _ = client.communicate(timeout=400)
        sender.join()
        assert client.returncode in {0, 1, 2, 3}, said
        taken = Inputs(Catalog(str(world.warehouse)), "calls").recorded().get(part)
        sizes = [one.file.size for one in taken.files if one.file.path == str(file)] if taken else []
        trial.hit = sizes != [file.stat().st_size]
        os.utime(file, ns=(modified, modified))  # as above
        assert_as_undisturbed(world, trial, part)


def send(file: Path, lines: list[bytes], pause: Callable[[], None]) -> None:
    with file.open("ab") as handle:
        for start in range(0, len(lines), _LINES_A_STEP):
            pause()
            handle.write(b"".join(lines[start : start + _LINES_A_STEP]))
            handle.flush()


def assert_as_undisturbed(world: World, trial: Trial, part: Slice) -> None:
    """Answers of less than all were published and are revised: but for the revisions the tables are the same."""
    world.run(part, more=ANEW)
    world.assert_healed(trial, without="_revision")
    world.level()
