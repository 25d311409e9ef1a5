"""When a run is broken, and how one waits for it: after a commit of its own, drawn, and a moment more."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .world import commits

_POLL_SECONDS = 0.005


@dataclass(frozen=True)
class Moment:
    """So many commits after the start of a run, and some seconds more."""

    commits: int
    seconds: float

    @classmethod
    def drawn(cls, chance: random.Random, most: int) -> Moment:
        """Anywhere in a run that makes so many commits, its start before the first of them included."""
        number = chance.randrange(most)
        return cls(number, chance.uniform(0, 4.0) if number == 0 else chance.uniform(0, 0.4))


def broken(run: subprocess.Popen[str], warehouse: Path, moment: Moment, breaks: Callable[[], bool | None]) -> bool:
    """Break something at that moment of the run; whether the run was still under way, and there was what to break."""
    before = commits(warehouse)
    while commits(warehouse) - before < moment.commits:
        if run.poll() is not None:
            return False
        time.sleep(_POLL_SECONDS)
    time.sleep(moment.seconds)
    return run.poll() is None and breaks() is not False


def killed(run: subprocess.Popen[str]) -> bool:
    """Kill the run itself; false where it had ended."""
    run.kill()
    return run.wait() == -signal.SIGKILL


def kill(pid: int) -> bool:
    """Kill a process of the suite's own by its id; false where it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
