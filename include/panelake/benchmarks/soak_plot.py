"""A soak as a picture: latency, memory and files over its minutes, maintenance as lines across."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from panelake.benchmarks.soak_verdict import Row

_SIZE, _DPI, _MINUTE = (10, 9), 90, 60


def draw(rows: Sequence[Row], path: Path, title: str) -> None:
    """A PNG of three panels, one below the other."""
    picture = Figure(figsize=_SIZE, layout="constrained")
    FigureCanvasAgg(picture)
    minutes = [row.published / _MINUTE for row in rows]
    latency, memory, files = picture.subplots(3, 1, sharex=True)
    _lines(latency, minutes, {"latency": [row.latency for row in rows], "run": [row.run for row in rows]}, "seconds")
    names = sorted({name for row in rows for name in row.memory})
    _lines(memory, minutes, {name: [row.memory.get(name, 0.0) for row in rows] for name in names}, "megabytes")
    tables = sorted({name for row in rows for name in row.files})
    _lines(files, minutes, {name: [row.files.get(name, 0) for row in rows] for name in tables}, "live files")
    for row in rows:
        for axes in (latency, memory, files) if row.maintenance else ():
            axes.axvline(row.published / _MINUTE, color="#7F7F7F", linewidth=0.6, linestyle=":")
    files.set_xlabel("minutes; dotted: maintenance")
    picture.suptitle(title, fontsize=11)
    picture.savefig(path, dpi=_DPI, metadata={"Software": None})


def _lines(axes: Any, minutes: Sequence[float], values: dict[str, list[Any]], unit: str) -> None:
    for name, heights in values.items():
        axes.plot(minutes, heights, marker=".", linewidth=1, label=name)
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, linewidth=0.4, alpha=0.6)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
