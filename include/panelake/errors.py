"""Every way a command can fail, each with its exit code.

An error names the file or table, the value got, what was expected and what to do. Only a
`Transient` one may be retried: Airflow asks this type, not the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class PanelakeError(Exception):
    """Base of all errors a user may see; `exit_code` is documented in the README."""

    exit_code: ClassVar[int] = 2
    transient: ClassVar[bool] = False


class GateRefusedError(PanelakeError):
    """A quality gate refused a slice: nothing of it was published."""

    exit_code = 1


class BadInputError(PanelakeError):
    """What the user gave cannot be used; nothing was written."""

    exit_code = 2


class PrunedError(BadInputError):
    """What is asked for needs tuples that retention deleted."""


class PartDownError(PanelakeError):
    """A part is missing or down: server, source, Java, disk."""

    exit_code = 3


class TransientError(PartDownError):
    """A part is down for the moment: the same call may succeed later."""

    transient = True


class InterruptedRunError(PanelakeError):
    """The user stopped the command; tables are as before or after the slice in hand."""

    exit_code = 4


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a workspace, and where."""

    file: str
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{place}: {self.message}"


class WorkspaceError(BadInputError):
    """Everything that is wrong with a workspace, at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
