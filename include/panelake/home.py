"""Where runtime files live: jars, logs, scratch space, the server's record; never the working folder."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def import_root() -> Path:
    """The folder from which `panelake` is imported."""
    return _PACKAGE.parent


def checkout() -> Path | None:
    """The project's folder when the package runs from a checkout, else None."""
    root = import_root().parent
    return root if (root / "pyproject.toml").is_file() and import_root().name == "include" else None


def home() -> Path:
    """The folder of runtime files: PANELAKE_HOME, else the checkout's .cache, else the user's cache."""
    given = os.environ.get("PANELAKE_HOME")
    if given:
        return Path(given).expanduser().resolve()
    root = checkout()
    return root / ".cache" if root else Path.home() / ".cache" / "panelake"


def example_workspace(name: str) -> Path:
    """One of the example worlds, below include/workspaces."""
    return Path(__file__).resolve().parents[1] / "workspaces" / name
