"""The demo's world: a fresh copy of the traffic workspace, with tuples that fill some slices."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from panelake.errors import BadInputError, PartDownError
from panelake.home import example_workspace, home
from panelake.slices import Slice, parse_instant, slices_between
from panelake.workspace import load_workspace
from panelake.worlds.generate import generate

SLICES = 4
_WORLD = "traffic"
_START = parse_instant("2026-01-01T00:00:00Z")
_SECOND = 1_000_000


@dataclass(frozen=True)
class DemoWorld:
    """Where everything of one demo lies, and which slices it runs."""

    folder: Path
    tuples: int
    seed: int
    count: int = SLICES

    @property
    def workspace(self) -> Path:
        return self.folder / _WORLD

    @property
    def log(self) -> Path:
        return self.folder / "airflow.log"

    @cached_property
    def slices(self) -> list[Slice]:
        length = load_workspace(example_workspace(_WORLD)).slice_length
        return list(slices_between(_START, _START + self.count * length, length))

    def make(self) -> None:
        """Copy the workspace and land its tuples."""
        kept_apart = shutil.ignore_patterns("warehouse", "landing")
        shutil.copytree(example_workspace(_WORLD), self.workspace, ignore=kept_apart)
        workspace = load_workspace(self.workspace)
        seconds = self.count * workspace.slice_length / _SECOND
        landing = Path(workspace.source_path(_WORLD))
        generate(_WORLD, self.tuples, self.tuples / seconds, self.seed, _START, landing, lambda _: None)


@contextmanager
def demo_folder(given: Path | None) -> Iterator[Path]:
    """An empty folder: the given one, which must hold nothing yet, else the demo's own, one demo at a time."""
    if given is not None:
        yield _empty(given)
        return
    home().mkdir(parents=True, exist_ok=True)
    with (home() / "demo.lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PartDownError(f"another demo runs in {home() / 'demo'}; wait for it, or give --out DIR") from None
        shutil.rmtree(home() / "demo", ignore_errors=True)
        yield _empty(home() / "demo")


def _empty(path: Path) -> Path:
    path = path.expanduser().resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise BadInputError(f"--out {path} holds files already; give a folder that is new or empty")
    except OSError as error:
        raise PartDownError(f"--out {path} cannot be written ({error.strerror}); give a folder that can") from None
    return path
