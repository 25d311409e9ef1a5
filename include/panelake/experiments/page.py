"""The one page over all figures, made from the CSV files beside it and from nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from panelake.experiments import table
from panelake.experiments.catalog import FIGURES, PAPERS
from panelake.experiments.figure import Figure

NAME = "README.md"
_MACHINE_FILE = "run.json"


def write(folder: Path) -> Path:
    """Put the page beside the files it is made from."""
    path = folder / NAME
    path.write_text(text(folder), encoding="utf-8")
    return path


def text(folder: Path) -> str:
    """Every paper in plain words, then each of its figures found in the folder: picture, claim, measured, verdict."""
    found = {figure.name: table.read(path) for figure in FIGURES if (path := folder / f"{figure.name}.csv").exists()}
    machines = json.loads((folder / _MACHINE_FILE).read_text(encoding="utf-8"))
    lines = ["# The papers' figures, measured", "", _machine(machines), "", *_overview(found), ""]
    for paper, words in PAPERS.items():
        figures = [figure for figure in FIGURES if figure.paper == paper and figure.name in found]
        if figures:
            lines += [f"## {paper}", "", words, ""]
            for figure in figures:
                lines += _section(figure, found[figure.name])
    return "\n".join(lines).rstrip() + "\n"


def _machine(machines: dict[str, dict[str, Any]]) -> str:
    kinds = sorted({f"{m['cores']} cores, {m['memory_gb']} GB, Python {m['python']}" for m in machines.values()})
    sets = sorted({m["set"] for m in machines.values()})
    smaller = " The quick set has fewer tuples, rates and seeds than the papers have." if "quick" in sets else ""
    return (
        f"Made by `panelake experiments` ({' and '.join(sets)} set) on {' and '.join(kinds)}.{smaller}"
        " Every number here is computed from the CSV files that the run wrote;"
        " times are processor time, and of one machine: ratios count, not milliseconds."
        " Spread is shown in the plots: bars of error reach from the least to the greatest over the seeds."
    )


def _overview(found: dict[str, table.Table]) -> list[str]:
    lines = ["| figure | what | verdict |", "|---|---|---|"]
    for figure in FIGURES:
        if figure.name in found:
            outcome = figure.verdict(found[figure.name]).outcome
            lines.append(f"| [{figure.name}](#{figure.name}) | {figure.title} | {outcome} |")
    return lines


def _section(figure: Figure, measured: table.Table) -> list[str]:
    verdict = figure.verdict(measured)
    seeds = len(measured.seeds())
    return [
        f"### {figure.name}",
        "",
        f"![{figure.title}]({figure.name}.png)",
        "",
        f"- **Claimed:** {figure.claim}",
        f"- **Measured** ({seeds} seed{'s' if seeds > 1 else ''}): {verdict.measured}",
        f"- **Verdict: {verdict.outcome}** — {verdict.why}",
        f"- **Ours:** {figure.ours(measured)}",
        "",
    ]
