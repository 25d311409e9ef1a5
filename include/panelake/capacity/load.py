"""A load: how many tuples a second, in what slices, for how many groups, queries and joins, since how long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from panelake.planning.cost import group_rows

DAY_SECONDS = 86_400.0


@dataclass(frozen=True)
class Load:
    """One stream as the pipeline sees it; what follows from it is exact arithmetic, groups taken as equally frequent.

    `joined_share` is the share of tuples that are in a join's streams; `days` is for how long slices have been run.
    """

    tuples_per_second: float
    slice_seconds: float = 300.0
    groups: int = 10_000
    queries: int = 10
    unit_seconds: float = 60.0
    range_seconds: float = 600.0
    slide_seconds: float = 60.0
    joined_share: float = 0.1
    join_range_seconds: float = 300.0
    source_file_bytes: float = 128 * 2.0**20
    days: float = 1.0
    kept_days: float = 90.0

    def __post_init__(self) -> None:
        if self.tuples_per_second <= 0 or self.slice_seconds <= 0:
            raise ValueError(f"a load of {self.tuples_per_second} tuples/s in slices of {self.slice_seconds} s")

    @property
    def tuples(self) -> float:
        """Tuples of one slice."""
        return self.tuples_per_second * self.slice_seconds

    @property
    def slices_a_day(self) -> float:
        return DAY_SECONDS / self.slice_seconds

    @property
    def past_slices(self) -> float:
        """Slices in the ledger."""
        return self.slices_a_day * self.days

    @property
    def pane_rows(self) -> float:
        """Rows that one slice's panes have, all groups."""
        a_unit = max(1.0, self.tuples_per_second * self.unit_seconds)
        return self.tuples * group_rows(1 / a_unit, self.groups)

    @property
    def reached_panes(self) -> float:
        """Pane rows that a slice's windows reach: its own, and those of the longest window before it."""
        return self.pane_rows * (1 + self.range_seconds / self.slice_seconds)

    @property
    def pane_reads(self) -> float:
        """Pane rows that a slice's windows are made of, once for each query."""
        return self.queries * self.reached_panes

    @property
    def answers(self) -> float:
        """Rows that a slice adds to gold: of each window that ends in it, the groups that have tuples."""
        a_window = max(1.0, self.tuples_per_second * self.range_seconds)
        present = a_window * group_rows(1 / a_window, self.groups)
        return self.queries * present * self.slice_seconds / self.slide_seconds

    @property
    def joined_tuples(self) -> float:
        """Tuples that a slice's join reads: its own, and those of the longest window before it."""
        return self.tuples * self.joined_share * (1 + self.join_range_seconds / self.slice_seconds)

    def at(self, tuples_per_second: float) -> Load:
        """The same at another rate."""
        return replace(self, tuples_per_second=tuples_per_second)

    def split(self, shards: int) -> Load:
        """One of so many equal shares of the stream, parted by group."""
        groups = max(1, round(self.groups / shards))
        return replace(self, tuples_per_second=self.tuples_per_second / shards, groups=groups)
