"""The audit's share of a slice's time, as JSON. Exit code 1 if it is above the target.

Run on a quiet machine: python tests/benchmarks/audit.py [TUPLES] (3,000,000 unless told: three slices, the first of
which warms the server up). `panelake bench audit` is the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from panelake.benchmarks import audit
from panelake.benchmarks.targets import missed
from panelake.spark.session import spark_session

if __name__ == "__main__":
    tuples = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
    with spark_session(None, "audit benchmark") as spark:
        found = audit.run(spark, Path(), tuples)
    print(json.dumps(found, indent=2))  # noqa: T201 - the table
    sys.exit(bool(missed(found["targets"])))
