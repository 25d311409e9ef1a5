"""Runs a command that must not outlive its owner, however the owner ends: `owner_guard PID COMMAND…`.

The command takes this process's place and pid. A forked watcher asks for the owner twice a second and
ends the command when it is gone: it needs no handler in the owner, so `kill -9` is covered too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import psutil

from panelake.processes import ProcessId, end

_POLL_SECONDS = 0.5
_GRACE_SECONDS = 5.0


def guarded(command: Sequence[str], owner_pid: int) -> list[str]:
    """The command line that runs a command under guard."""
    return [sys.executable, "-m", "panelake.spark.owner_guard", str(owner_pid), *command]


def watch(owner: ProcessId, ward: ProcessId) -> None:
    """Return when the ward has ended; end it when the owner has."""
    while ward.is_alive():
        if not owner.is_alive():
            end(ward, _GRACE_SECONDS)
            return
        time.sleep(_POLL_SECONDS)


def main(arguments: Sequence[str]) -> None:
    """Become the command, leaving a watcher behind."""
    try:
        owner = ProcessId.of(int(arguments[0]))
    except psutil.NoSuchProcess:
        sys.exit(f"the owner, process {arguments[0]}, is gone: nothing is started")
    ward = ProcessId.of(os.getpid())
    if os.fork() == 0:
        os.setsid()
        watch(owner, ward)
        os._exit(0)
    os.execv(arguments[1], list(arguments[1:]))  # noqa: S606 - the command given by the starter


if __name__ == "__main__":
    main(sys.argv[1:])
