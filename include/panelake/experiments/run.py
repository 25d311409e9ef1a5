"""Figures one after another: measured, written as CSV, drawn, judged; and the page over all of them."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from panelake.experiments import page, plot, table
from panelake.experiments.figure import Figure, Scale, Verdict

_MACHINE_FILE = "run.json"


@dataclass(frozen=True)
class Result:
    """A figure done: its verdict, its files, and how long it took."""

    figure: Figure
    verdict: Verdict
    ours: str
    csv: Path
    png: Path
    seconds: float

    def as_document(self) -> dict[str, Any]:
        return {
            "figure": self.figure.name,
            "paper": self.figure.paper,
            "claim": self.figure.claim,
            "measured": self.verdict.measured,
            "verdict": self.verdict.outcome,
            "why": self.verdict.why,
            "ours": self.ours,
            "csv": str(self.csv),
            "png": str(self.png),
            "seconds": round(self.seconds, 1),
        }


def run(figures: Sequence[Figure], scale: Scale, folder: Path, begins: Callable[[Figure], None]) -> list[Result]:
    """Measure every figure into the folder; the page is made anew from all figures found there."""
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for figure in figures:
        begins(figure)
        results.append(_run_one(figure, scale, folder))
        _note_machine(results[-1], scale, folder)  # at once: a run that is cut short keeps what it has
        page.write(folder)
    return results


def _run_one(figure: Figure, scale: Scale, folder: Path) -> Result:
    began = time.perf_counter()
    measured = table.Table(figure.rows(scale))
    csv, png = folder / f"{figure.name}.csv", folder / f"{figure.name}.png"
    table.write(measured, csv)
    # What is drawn and judged is what was written, digits included.
    kept = table.read(csv)
    plot.draw(figure, kept, png)
    return Result(figure, figure.verdict(kept), figure.ours(kept), csv, png, time.perf_counter() - began)


def _note_machine(result: Result, scale: Scale, folder: Path) -> None:
    """How large and on what a figure was measured, beside what is noted of others."""
    path = folder / _MACHINE_FILE
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    machine = {
        "set": "quick" if scale.quick else "full",
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
    }
    known[result.figure.name] = machine | {"seconds": round(result.seconds, 1)}
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
