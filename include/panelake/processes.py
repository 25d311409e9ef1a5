"""Processes of our own: started apart from the terminal, known again later, ended by id only."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

# The shell starts the command in the background and ends: no parent is left that must reap it.
_DETACH = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 & echo $!'
_CLOCK_TOLERANCE = 1.0


@dataclass(frozen=True)
class ProcessId:
    """A process by its pid and its start, in seconds after boot: a pid used again is another process."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> ProcessId:
        """The process that has this pid now; psutil.NoSuchProcess when there is none."""
        return cls(pid, _seconds_after_boot(psutil.Process(pid)))

    def process(self) -> psutil.Process | None:
        """The living process, or None when it ended, whoever has its pid now."""
        try:
            process = psutil.Process(self.pid)
            same = abs(_seconds_after_boot(process) - self.started) <= _CLOCK_TOLERANCE
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    def is_alive(self) -> bool:
        return self.process() is not None


def spawn_detached(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> ProcessId:
    """Start a command in a session of its own, its output appended to the log; it outlives the caller."""
    shell = ["/bin/sh", "-c", _DETACH, "sh", str(log), *command]
    done = subprocess.run(  # noqa: S603 - the command is built by this project, no user text is parsed by the shell
        shell, env=dict(env), cwd=cwd, stdout=subprocess.PIPE, start_new_session=True, check=True, text=True
    )
    return ProcessId.of(int(done.stdout))


def end(identity: ProcessId, grace_seconds: float) -> bool:
    """End a process and its children: asked first, forced after the grace time; False when it was gone."""
    process = identity.process()
    if process is None:
        return False
    family = [process, *_children(process)]
    _signal(family[:1], force=False)
    psutil.wait_procs(family, timeout=grace_seconds)
    _signal(family, force=True)
    psutil.wait_procs(family, timeout=grace_seconds)
    return True


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return list(process.children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def _signal(processes: Sequence[psutil.Process], *, force: bool) -> None:
    for process in processes:
        try:
            if process.is_running():
                process.kill() if force else process.terminate()
        except psutil.NoSuchProcess:
            continue


def _seconds_after_boot(process: psutil.Process) -> float:
    # The wall clock may be set while the process runs; both terms move with it, the difference does not.
    return float(process.create_time() - psutil.boot_time())
