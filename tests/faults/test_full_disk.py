"""The warehouse's disk is full in the middle of a run: it fails by name, and goes on when there is room again.

The disk is a small tmpfs, for which one must be allowed to mount.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .tally import Tally, trials
from .world import World, rows_of

pytestmark = [pytest.mark.faults, pytest.mark.spark, pytest.mark.timeout(900)]

KIB = 1024
LARGE = 512 * KIB  # in KiB


def used(folder: Path) -> int:
    """KiB that files occupy, in whole pages as a tmpfs counts them; folders occupy none there."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return sum(4 * -(-size // (4 * KIB)) for size in sizes)


def mounted(*arguments: str) -> str:
    """Mount so, or say why it cannot be done."""
    command = ["mount", "-t", "tmpfs", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"a small disk cannot be mounted here: {done.stderr.strip()}" if done.returncode else ""


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """The folder on a disk of its own while the block runs; what it holds moves there and back."""
    kept = folder.with_name(f"{folder.name}.kept")
    folder.rename(kept)
    folder.mkdir()
    if refused := mounted("-o", f"size={LARGE}k", "tmpfs", str(folder)):
        folder.rmdir()
        kept.rename(folder)
        pytest.skip(refused)
    try:
        shutil.copytree(kept, folder, dirs_exist_ok=True)
        yield
    finally:
        shutil.rmtree(kept)
        shutil.copytree(folder, kept)
        subprocess.run(["umount", folder], check=True)  # noqa: S607 - as above
        folder.rmdir()
        kept.rename(folder)


def resize(folder: Path, kib: int) -> None:
    assert not mounted("-o", f"remount,size={kib}k", "tmpfs", str(folder))


@pytest.mark.parametrize("_", range(trials(2)))
def test_the_disk_is_full(world: World, tally: Tally, _: int) -> None:
    with small_disk(world.warehouse), tally.trial("disk full") as trial:
        before, least = rows_of(world.warehouse), used(world.undisturbed / "warehouse")
        part = world.next_slice()
        grown = used(world.undisturbed / "warehouse") - least
        resize(world.warehouse, used(world.warehouse) + round(grown * trial.chance.uniform(0.02, 0.9)))
        with world.running(part) as client:
            said, _ = client.communicate(timeout=400)
        assert client.returncode in {0, 3}, said
        trial.hit = client.returncode == 3
        assert not trial.hit or "No space left on device" in said, said
        world.assert_consistent(trial, before)
        resize(world.warehouse, LARGE)
        world.run(part)
        world.assert_healed(trial)
