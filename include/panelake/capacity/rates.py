"""What was measured on one machine, that everything else of the model is computed from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from panelake.errors import BadInputError


@dataclass(frozen=True)
class Rates:
    """What one core does in a second, what a slice costs at least, and what a tuple weighs.

    `fixed` has of each stage the seconds of a slice that brings next to nothing to no query; `a_query` what each
    query adds to them.
    """

    # Done by one core in one second.
    ingest_tuples: float  # judged, counted, numbered and moved into order
    ingest_in_order: float  # the same, where files are in time order and nothing is moved
    pane_tuples: float
    pane_rows: float  # rows made of them, beside the tuples
    window_reads: float  # pane rows, once for each query that reads them
    audit_tuples: float
    join_tuples: float

    # Seconds, of the one driver or of the one client: no core more makes them less.
    fixed: Mapping[str, float]
    a_query: Mapping[str, float]
    answer_row: float  # audited and published
    task: float
    number: float  # the commit that gives a slice its numbers
    past_slice: float  # what each slice of the ledger's history adds to a slice
    known_file: float  # what each source file that was ever taken adds to a slice
    file_pair: float  # and, besides, with each file that the slice brings
    logged_file: float  # what each file that bronze's log lists adds to a read of it

    # Bytes.
    source_tuple: float
    bronze_tuple: float
    pane_row_bytes: float
    answer_row_bytes: float
    moved_tuple: float  # shuffled by ingest
    moved_pane: float  # shuffled by panes and windows, a pane row that windows reach
    moved_join: float  # shuffled by the join, a tuple it reads
    ledger_row_bytes: float

    # Counted, a slice.
    ledger_rows: float
    ledger_rows_a_query: float
    commits: float
    commits_a_query: float


@dataclass(frozen=True)
class Measured:
    """Rates, the machine they were measured on and how."""

    machine: Mapping[str, Any]
    rates: Rates


def write(measured: Measured, path: Path) -> None:
    """As JSON, with as many digits as a measurement has."""
    known = asdict(measured.rates)
    rounded = {
        name: {key: _rounded(one) for key, one in value.items()} if isinstance(value, Mapping) else _rounded(value)
        for name, value in known.items()
    }
    document = {"machine": dict(measured.machine), "rates": rounded}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Measured:
    """The rates as they were written; a file that lacks some, or has others, is refused."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        given = document["rates"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"{path} holds no rates ({error}); make it with panelake bench capacity") from None
    wanted = {field.name for field in fields(Rates)}
    odd = sorted(wanted ^ given.keys())
    if odd:
        raise BadInputError(f"{path}: {odd[0]} is missing or unknown; measure anew with panelake bench capacity")
    return Measured(document["machine"], Rates(**given))


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
