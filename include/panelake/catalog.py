"""Where every table of a workspace lies, below its warehouse."""

from __future__ import annotations

from dataclasses import dataclass

from panelake.slices import Slice


@dataclass(frozen=True)
class Catalog:
    """Table addresses: paths or URIs that both Spark and other Delta readers can open."""

    warehouse: str

    def bronze(self, stream: str) -> str:
        return f"{self.warehouse}/bronze/{stream}"

    def quarantine(self, stream: str) -> str:
        return f"{self.warehouse}/quarantine/{stream}"

    def held(self, stream: str) -> str:
        return f"{self.warehouse}/held/{stream}"

    def replays(self, stream: str) -> str:
        return f"{self.warehouse}/replays/{stream}"

    def panes(self, stream: str) -> str:
        return f"{self.warehouse}/panes/{stream}"

    def gold(self, query: str) -> str:
        return f"{self.warehouse}/gold/{query}"

    def state(self, query: str) -> str:
        """What a join with a memory limit remembers after each slice."""
        return f"{self.warehouse}/state/{query}"

    def staged_join(self, query: str, part: Slice) -> str:
        """Where a join's results, and states, wait for their audit; no stream's name begins with an underscore."""
        return f"{self.staging('_joins', part)}/{query}"

    def staging(self, stream: str, part: Slice) -> str:
        """Plain Parquet, below it a folder per attempt and query: readable for inspection, never part of gold."""
        return f"{self.warehouse}/staging/{stream}/{part.folder}"

    def ledger(self, table: str) -> str:
        return f"{self.warehouse}/ledger/{table}"

    @property
    def filters(self) -> str:
        """What is known of streams' and queries' filters, a row a slice."""
        return self.ledger("filters")

    @property
    def quality(self) -> str:
        return f"{self.warehouse}/quality/results"

    @property
    def report(self) -> str:
        return f"{self.warehouse}/report"
