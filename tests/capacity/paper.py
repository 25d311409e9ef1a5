"""Round rates, so that what follows from them can be worked out by hand."""

from __future__ import annotations

from panelake.capacity.rates import Rates

STAGES = ("ingest", "panes", "windows", "join", "audit", "publish", "report")
RATES = Rates(
    ingest_tuples=100_000,
    ingest_in_order=200_000,
    pane_tuples=1_000_000,
    pane_rows=500_000,
    window_reads=1_000_000,
    audit_tuples=2_000_000,
    join_tuples=250_000,
    fixed=dict.fromkeys(STAGES, 1.0),
    a_query={"windows": 0.1},
    answer_row=1e-5,
    task=0.002,
    number=0.05,
    past_slice=1e-4,
    known_file=1e-5,
    file_pair=1e-7,
    logged_file=1e-5,
    source_tuple=20,
    bronze_tuple=25,
    pane_row_bytes=40,
    answer_row_bytes=50,
    moved_tuple=30,
    moved_pane=35,
    moved_join=32,
    ledger_row_bytes=60,
    ledger_rows=12,
    ledger_rows_a_query=3,
    commits=10,
    commits_a_query=1,
)
