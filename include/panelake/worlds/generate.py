"""Writes a synthetic world as files that look as if they had landed from a source."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from panelake.errors import BadInputError, PartDownError
from panelake.worlds import news, packets, traffic

Landing = tuple[str, pa.Table]  # the stream's folder, "" where a world has one stream, and its next file
World = Callable[[int, float, int, int], Iterator[Landing]]


def _alone(batches: Callable[[int, float, int, int], Iterator[pa.Table]]) -> World:
    """A world of one stream, whose files land in the folder itself."""
    return lambda tuples, rate, seed, start: (("", table) for table in batches(tuples, rate, seed, start))


WORLDS: dict[str, World] = {
    "traffic": _alone(traffic.batches),
    "packets": packets.batches,
    "news": news.batches,
}


def generate(  # noqa: PLR0917 - the command's own options
    world: str, tuples: int, rate: float, seed: int, start: int, folder: Path, progress: Callable[[int], None]
) -> list[Path]:
    """Write the world's tuples below the folder, which must hold no files yet; give the files written."""
    if world not in WORLDS:
        raise BadInputError(f"unknown world {world!r}; expected one of {', '.join(sorted(WORLDS))}")
    require_sound(tuples, seed, rate)
    _require_empty(folder)
    return [
        _land(table, folder / stream / f"{stream or world}-{number:05d}.parquet", progress)
        for number, (stream, table) in enumerate(WORLDS[world](tuples, rate, seed, start))
    ]


def require_sound(tuples: int, seed: int, rate: float = 1.0) -> None:
    """Refuse, before anything is written, what no world can be made of."""
    if tuples <= 0:
        raise BadInputError(f"--tuples {tuples}: expected how many, at least 1")
    if not 0 < rate < math.inf:
        raise BadInputError(f"--rate {rate:g}: expected tuples a second, a finite number above 0")
    if seed < 0:
        raise BadInputError(f"--seed {seed}: expected a whole number from 0")


def _require_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise BadInputError(
                f"--out {folder} holds files already; a landed file is never replaced: give a new folder"
            )
    except OSError as error:
        raise PartDownError(f"--out {folder} cannot be written ({error.strerror}); give a folder that can") from None


def _land(table: pa.Table, path: Path, progress: Callable[[int], None]) -> Path:
    """Write under a hidden name first, so that nobody reads half a file."""
    path.parent.mkdir(exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    pq.write_table(table, hidden)
    hidden.rename(path)
    progress(table.num_rows)
    return path
