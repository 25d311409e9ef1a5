"""How every kernel is compiled: once per machine (cached on disk), without the GIL, never with fast-math.

Numba renews a cached kernel when the file of that kernel changes, not when a function it calls in another file does;
so a kernel and the arithmetic compiled into it share a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from numba import njit
from numba.extending import overload

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def kernel(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Compiled for each combination of argument types at its first call; the Python function stays as `.py_func`."""
    return cast("Callable[Arguments, Result]", njit(cache=True, nogil=True)(function))


def compiled_as(function: Callable[..., Any]) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Decorates what chooses, from its arguments' types, the Python function compiled in place of `function`."""
    # Strict would compare annotations too, which differ: the chooser sees types, the chosen function values.
    return cast(
        "Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]", overload(function, strict=False)
    )
