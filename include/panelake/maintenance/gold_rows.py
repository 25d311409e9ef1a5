"""Takes rows out of a query's gold: the windows they lie between are written anew without them, in one commit."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from panelake import tables
from panelake.gold import END
from panelake.slices import format_instant


def remove(address: str, unwanted: pc.Expression) -> int:
    """Delete the rows that the condition is true of; give how many went."""

    def commit() -> int:
        table = DeltaTable(address)
        rows = tables.dataset(table)
        found = rows.to_table(columns=[END], filter=unwanted)[END]
        if not len(found):
            return 0
        low, high = pc.min(found), pc.max(found)
        around = rows.to_table(filter=(pc.field(END) >= low) & (pc.field(END) <= high))
        kept = around.filter(~pc.coalesce(unwanted, pc.scalar(False)))  # noqa: FBT003 - pyarrow's signature
        tables.overwrite(table, kept, f"{END} >= {_shown(low)} AND {END} <= {_shown(high)}")
        return len(found)

    return tables.retry_conflicts(commit, address)


def _shown(end: pa.Scalar) -> str:
    """A window's end as a literal, formatted from an integer."""
    return f"'{format_instant(end.value)}'" if pa.types.is_timestamp(end.type) else str(int(end.as_py()))
