"""Asking for memory before it is needed, so that waits for it pass side by side while other work is done.

What is asked for is a guess: nothing that a join does depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import cgutils, types
from numba.extending import intrinsic

_ir = cgutils.ir  # llvmlite's, which numba builds its code with
_TO_READ, _KEEP, _DATA = 0, 3, 1


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def fetch(_typing: Any, array: Any, row: Any) -> tuple[Any, Callable[..., Any]]:
    """Have the cache line where a row begins brought near; nothing waits for it, and no row is wrong."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, row_type = signature.args
        rows = context.make_array(array_type)(context, builder, arguments[0])
        row = context.cast(builder, arguments[1], row_type, types.intp)
        place = [row] + [context.get_constant(types.intp, 0)] * (array_type.ndim - 1)
        address = cgutils.get_item_pointer(context, builder, array_type, rows, place, wraparound=False)
        _ask(builder, builder.bitcast(address, cgutils.voidptr_t))
        return context.get_dummy_value()

    return types.void(array, row), generate


def _ask(builder: Any, address: Any) -> None:
    told = [_ir.Constant(cgutils.int32_t, word) for word in (_TO_READ, _KEEP, _DATA)]
    signature = _ir.FunctionType(_ir.VoidType(), [address.type, *(word.type for word in told)])
    function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch")
    builder.call(function, [address, *told])
