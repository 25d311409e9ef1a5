"""One thing that maintenance does to one table: it can be told before it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """`do` does it and gives what more there is to tell; `alone` needs the warehouse without any stage at work."""

    action: str
    table: str
    what: str
    do: Callable[[], dict[str, Any]]
    alone: bool = True
    facts: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {"action": self.action, "table": self.table, "what": self.what, **self.facts}
