"""The page over measured benchmarks: every target, what was reached, made from the JSON files beside it alone."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from panelake.benchmarks.targets import Target

NAME = "README.md"
_WORDS = {True: "reached", False: "**missed**", None: ""}


def machine() -> dict[str, Any]:
    """What the machine is, and how busy it was before."""
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        "load before": round(os.getloadavg()[0], 1),
    }


def write(folder: Path, name: str, module: ModuleType, of: dict[str, Any], found: dict[str, Any]) -> None:
    """Put one benchmark's document into the folder, and the page anew beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    about = " ".join((module.__doc__ or "").split())
    document = {"benchmark": name, "about": about, "machine": of, "found": found}
    (folder / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (folder / NAME).write_text(text(folder), encoding="utf-8")


def text(folder: Path) -> str:
    """Every benchmark found in the folder: what it compares, on which machine, and its targets."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    lines = [
        "# Benchmarks, measured",
        "",
        "Made by `panelake bench --out`; every number comes from the JSON file of its benchmark, which has many more.",
        "Ratios between peers of one run count, seconds are one machine's.",
        "",
    ]
    for document in documents:
        lines += _section(document)
    return "\n".join(lines).rstrip() + "\n"


def _section(document: dict[str, Any]) -> list[str]:
    name, of = document["benchmark"], document["machine"]
    where = f"{of['cores']} cores, {of['memory_gb']} GB, Python {of['python']}, load {of['load before']} before"
    tuples = document["found"].get("tuples")
    size = f"{tuples:,} tuples; " if tuples else ""
    return [
        f"## {name}",
        "",
        document["about"],
        "",
        f"[{name}.json]({name}.json): {size}{where}.",
        "",
        "| what | measured | target | |",
        "|---|---|---|---|",
        *(_row(target) for target in document["found"]["targets"]),
        "",
    ]


def _row(target: Target) -> str:
    goal = target["target"] or "told beside"
    return f"| {target['what']} | {target['value']:,.10g} | {goal} | {_WORDS[target['reached']]} |"
