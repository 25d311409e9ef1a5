"""Wall-clock seconds of ways to do the same, side by side in one run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import psutil

from panelake.spark.record import load_record

Work = Callable[[], object]


def side_by_side(works: Mapping[str, Work], rounds: int = 5) -> dict[str, float]:
    """The least seconds of each, after one run to warm up; they take turns, so that a busy machine hits all alike."""
    for work in works.values():
        work()
    turns = [{name: _once(work) for name, work in works.items()} for _ in range(rounds)]
    return {name: min(turn[name] for turn in turns) for name in works}


def seconds(work: Work, repeats: int = 3) -> float:
    """The least of some runs, after one to warm up where it is repeated at all."""
    if repeats > 1:
        work()
    return min(_once(work) for _ in range(repeats))


def _once(work: Work) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def note(text: str) -> None:
    """One line on stderr, at once: a benchmark takes many minutes, and stdout is for its one document."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - for who waits


def rounded(values: dict[str, float]) -> dict[str, float]:
    """Figures as a table shows them: four digits."""
    return {name: float(f"{value:.4g}") for name, value in values.items()}


@dataclass(frozen=True)
class Spent:
    """What a piece of work took: seconds by the clock, and processor seconds of the local server, if there is one."""

    seconds: float
    processor: float


def spent(work: Callable[[], object]) -> Spent:
    """Do it once and tell what it took."""
    before = _server_seconds()
    seconds = _once(work)
    return Spent(seconds, _server_seconds() - before)


def least(many: Iterable[Spent]) -> Spent:
    """The least of each."""
    listed = list(many)
    return Spent(min(one.seconds for one in listed), min(one.processor for one in listed))


def _server_seconds() -> float:
    """Processor seconds that the local server and its Python workers, ended ones too, have used so far."""
    record = load_record()
    process = record.process.process() if record else None
    if process is None:
        return 0.0
    used = 0.0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            used += times.user + times.system + times.children_user + times.children_system
    return used
