"""Prints what pyproject.toml needs, with the extras named: `requirements.py pyproject.toml [EXTRA …]`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in sys.argv[2:])]
    sys.stdout.writelines(f"{requirement}\n" for one in lists for requirement in one)
