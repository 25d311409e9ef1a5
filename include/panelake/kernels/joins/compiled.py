"""How join kernels are compiled: parts in many files, one machine-wide cache that knows all of them.

Numba renews a cached kernel only when the kernel's own file changes. Here a kernel is made of parts that stand in
files of their own, so the stamp that decides is taken over every file of the folder.
Kernels allocate nothing: without Numba's run time no array is counted in and out of each part, which otherwise costs
more than the join itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit
from numba.extending import overload

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


_INTO_ITS_CALLER = {"nogil": True, "_nrt": False, "forceinline": True}


def part(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compiled into the kernels that call it; nothing of its own is cached."""
    return cast("Callable[Arguments, Result]", njit(**_INTO_ITS_CALLER)(function))


def part_by_type(function: Callable[..., Any], choices: dict[type, Callable[..., Any]]) -> None:
    """A kernel that calls `function` gets the part chosen by the type of its first argument, a named tuple."""

    def choose(first: Any, *_: Any) -> Callable[..., Any]:
        choice: Any = choices[first.instance_class]
        return cast("Callable[..., Any]", choice.py_func)

    overload(function, strict=False, jit_options=_INTO_ITS_CALLER)(choose)


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compiled once per machine, and anew when any file of this folder has changed."""
    dispatcher: Any = njit(cache=True, nogil=True, _nrt=False)(function)
    dispatcher._cache._cache_file._source_stamp = _stamp()  # noqa: SLF001 - Numba offers no other way to say it
    return cast("Callable[Arguments, Result]", dispatcher)


def _stamp() -> tuple[tuple[str, float, int], ...]:
    files = ((file.name, file.stat()) for file in sorted(Path(__file__).parent.glob("*.py")))
    return tuple((name, status.st_mtime, status.st_size) for name, status in files)
