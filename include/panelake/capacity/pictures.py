"""Which tables are drawn, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from panelake.experiments import plot
from panelake.experiments.figure import Panel
from panelake.experiments.table import Table


@dataclass(frozen=True)
class Picture:
    """One PNG: panels of one table."""

    name: str
    title: str
    panels: tuple[Panel, ...]


PICTURES = (
    Picture(
        "cores",
        "cores over tuples a second",
        (
            Panel("work by stage", "tuples/s", "cores at 70 %", logarithmic=True, logarithmic_x=True),
            Panel("cores that keep up", "tuples/s", "cores", logarithmic=True, logarithmic_x=True),
        ),
    ),
    Picture(
        "delays",
        "slices that queue: bursts, and an hour in which a slice hangs",
        (
            Panel("delay", "hours", "seconds from a slice's end to its answers", logarithmic=True),
            Panel("backlog", "hours", "slices that are not done", logarithmic=True),
        ),
    ),
)


def draw(tables: dict[str, Table], folder: Path) -> None:
    """Every picture beside the CSV file of its name."""
    for picture in PICTURES:
        plot.draw(picture, tables[picture.name], folder / f"{picture.name}.png")
