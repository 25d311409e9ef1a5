"""Collects everything wrong with one query file, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from panelake.errors import Problem, WorkspaceError


@dataclass
class ProblemList:
    """Problems of one file; places are offsets into its text."""

    file: str
    text: str
    _found: dict[tuple[int, str], None] = field(default_factory=dict)

    def add(self, offset: int, message: str) -> None:
        """Record a problem that starts at this offset."""
        self._found[(offset, message)] = None

    @property
    def count(self) -> int:
        """How many were found so far."""
        return len(self._found)

    def add_node(self, node: exp.Expr, message: str) -> None:
        """Record a problem where the text of a syntax node starts."""
        self.add(offset_of(node), message)

    def raise_if_any(self) -> None:
        """Raise one WorkspaceError of all problems, in the order of the text."""
        if self._found:
            raise WorkspaceError([self._problem(offset, message) for offset, message in sorted(self._found)])

    def _problem(self, offset: int, message: str) -> Problem:
        before = self.text[:offset]
        return Problem(self.file, message, before.count("\n") + 1, offset - before.rfind("\n"))


def offset_of(node: exp.Expr) -> int:
    """Offset at which a node's text starts; nodes without a token of their own take their parent's."""
    ancestor: exp.Expr | None = node
    while ancestor is not None:
        starts = [part.meta["start"] for part in ancestor.walk() if "start" in part.meta]
        if starts:
            return int(min(starts))
        ancestor = ancestor.parent
    return 0
