"""Micro-batches without a pause at the highest rate this machine holds; exit code 1 if memory, latency or files grow.

Run on a quiet machine: python tests/benchmarks/soak.py [--minutes 20] [--out DIR] (about four minutes more find the
rate, unless --tuples gives it). DIR then holds soak.csv, a line a slice, and soak.png; stdout has the verdict, as JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from panelake.benchmarks import soak
from panelake.spark.session import spark_session

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--tuples", type=int, default=None, help="a slice; default: as many as this machine holds")
    parser.add_argument("--cadence", type=float, default=soak.CADENCE, help="seconds from slice to slice")
    parser.add_argument("--out", type=Path, default=Path("soak"), help="a folder for table and plot")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, spark_session(None, "soak") as spark:
        found = soak.run(spark, Path(place), options.minutes, options.tuples, options.cadence)
        for name in ("soak.csv", "soak.png"):
            shutil.copy(Path(place) / name, options.out / name)
    print(json.dumps(found, indent=2))  # noqa: T201 - the verdict
    sys.exit(not found["holds"])
