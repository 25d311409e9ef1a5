"""What 10,000 slices cost the audit's results and the report, as JSON. Exit code 1 if anything takes too long.

Run: python tests/benchmarks/history.py. `panelake bench history` is the same.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from panelake.benchmarks import history
from panelake.benchmarks.targets import missed

if __name__ == "__main__":
    found = history.run(None, Path(), 0)
    print(json.dumps(found, indent=2))  # noqa: T201 - the table
    sys.exit(bool(missed(found["targets"])))
