"""What an experiment measures, as rows of one shape, on disk as CSV.

A row is one measurement: in this panel, at this x, this contender, with this seed, measured this value. Whatever is
drawn, judged or printed is read from such rows, so that a plot, a verdict and a page can be made again from the file.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

_COLUMNS = ("panel", "x", "contender", "seed", "value")
_DIGITS = 6


class Row(NamedTuple):
    """One measurement; x is a number where the axis has a scale, else a name."""

    panel: str
    x: float | str
    contender: str
    seed: int
    value: float


class Table:
    """The rows of one figure, in the order measured."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = tuple(rows)

    def contenders(self, panel: str) -> list[str]:
        return _in_order(row.contender for row in self.rows if row.panel == panel)

    def panels(self) -> list[str]:
        return _in_order(row.panel for row in self.rows)

    def seeds(self) -> list[int]:
        return sorted({row.seed for row in self.rows})

    def xs(self, panel: str) -> list[float | str]:
        found = _in_order(row.x for row in self.rows if row.panel == panel)
        return found if any(isinstance(x, str) for x in found) else sorted(found)

    def values(self, panel: str, x: float | str, contender: str) -> list[float]:
        """One value a seed; none where the contender did not take part."""
        wanted = (panel, x, contender)
        return [row.value for row in self.rows if (row.panel, row.x, row.contender) == wanted]

    def mean(self, panel: str, x: float | str, contender: str) -> float:
        return mean(self.values(panel, x, contender))

    def series(self, panel: str, contender: str) -> list[float]:
        """The means along the axis, where there are any."""
        return [mean(found) for x in self.xs(panel) if (found := self.values(panel, x, contender))]

    def overall(self, panel: str, contender: str) -> float:
        """The mean of the means along the axis."""
        return mean(self.series(panel, contender))


def write(table: Table, path: Path) -> None:
    """One CSV file; figures with as many digits as a measurement has."""
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(_COLUMNS)
        lines.writerows((*row[:-1], f"{row.value:.{_DIGITS}g}") for row in table.rows)


def read(path: Path) -> Table:
    """The rows as they were written."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        return Table(
            Row(line["panel"], _x(line["x"]), line["contender"], int(line["seed"]), float(line["value"]))
            for line in lines
        )


def _x(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _in_order(items: Iterable[float | str] | Iterable[str]) -> list:  # type: ignore[type-arg]
    return list(dict.fromkeys(items))


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Least, mean and greatest over the seeds."""
    return min(values), mean(values), max(values)
