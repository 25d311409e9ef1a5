from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .audit_world import FIRST, NEXT, PER_SLICE, World, write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """The folder of a world of which two slices are answered and not audited yet."""
    root = tmp_path_factory.mktemp("audit") / "world"
    write_world(root)
    world = World(root, spark)
    for number, part in enumerate((FIRST, NEXT)):
        world.ingest(part, number * PER_SLICE)
        world.stage("panes", part)
        world.stage("windows", part)
    return root


@pytest.fixture(scope="session")
def copied(sound: Path, tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Callable[[], World]:
    """Gives a copy of the sound world that a test may break."""

    def copy() -> World:
        root = tmp_path_factory.mktemp("broken") / "world"
        shutil.copytree(sound, root)
        return World(root, spark)

    return copy
