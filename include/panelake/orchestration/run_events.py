"""What a run in process tells while it goes on: one line of JSON an event."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["running", "success", "retry", "failed"]


@dataclass(frozen=True)
class TaskEvent:
    """A stage of a slice changed its state; a failure has its reason and the exit code it stands for.

    `slice_start` is microseconds since the epoch; the stage is empty where the run failed outside of its tasks.
    """

    slice_start: int
    stage: str
    state: State
    why: str = ""
    exit_code: int = 0

    def to_line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def from_line(line: str) -> TaskEvent:
    """The event that `to_line` wrote."""
    return TaskEvent(**json.loads(line))
