"""How the baselines' kernels are compiled: cached on disk, and anew when any file of this folder has changed.

Numba renews a cached kernel only when its own file changes; here kernels call parts that stand in other files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compiled for each combination of argument types at its first call."""
    dispatcher: Any = njit(cache=True, nogil=True)(function)
    dispatcher._cache._cache_file._source_stamp = _stamp()  # noqa: SLF001 - Numba offers no other way to say it
    return cast("Callable[Arguments, Result]", dispatcher)


def _stamp() -> tuple[tuple[str, float, int], ...]:
    files = ((file.name, file.stat()) for file in sorted(Path(__file__).parent.glob("*.py")))
    return tuple((name, status.st_mtime, status.st_size) for name, status in files)
