"""Publishes a join's audited results: they take the place of all rows that hold a tuple of the slice."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from panelake.context import Context
from panelake.errors import BadInputError, TransientError
from panelake.gold_joins import Owned, join_schema, replace_combinations
from panelake.language.query import JoinQuery
from panelake.ledger import Entry
from panelake.numbers import Numbers
from panelake.repairs import mark_for_repair
from panelake.slices import Slice
from panelake.spark.types import arrow_type
from panelake.staging import digest, join_results, open_parquet

Mine = Mapping[tuple[str, str], Entry]


def publish_join(context: Context, query: JoinQuery, part: Slice, mine: Mine) -> Entry:
    """Publish the slice's results, if they passed their audit."""
    verdict, joined = mine.get(("audit", f"gold/{query.name}")), mine.get(("join", query.name))
    if verdict is None or joined is None:
        raise BadInputError(
            f"query {query.name}, slice {part}: not joined and audited yet; run the stages join and audit first"
        )
    if verdict.status == "refused":
        return Entry(part, "publish", query.name, "refused", 0, details={"why": verdict.details["why"]})
    staged = open_parquet(join_results(context.catalog.staged_join(query.name, part), joined.details))
    if digest([] if staged is None else staged.files) != verdict.details["staged"]:
        raise BadInputError(
            f"query {query.name}, slice {part}: what is staged was not audited; run the stage audit, then publish again"
        )
    schema = gold_join_schema(query, joined)
    written = replace_combinations(context.catalog.gold(query.name), staged, schema, _owned(context, query, joined))
    if written != joined.rows:
        raise TransientError(
            f"query {query.name}, slice {part}: {joined.rows} rows were due and {written} are in gold; run it again"
        )
    mark_for_repair(context, query, joined)
    return Entry(part, "publish", query.name, "done", written, details={"due": joined.rows, "written": written})


def gold_join_schema(query: JoinQuery, joined: Entry) -> pa.Schema:
    """Gold's columns, by what the join stage recorded."""
    columns = pa.schema([(name, arrow_type(kind)) for name, kind in joined.details["types"].items()])
    return join_schema(columns, [stream.alias for stream in query.streams])


def _owned(context: Context, query: JoinQuery, joined: Entry) -> Owned:
    numbers = Numbers(context.catalog)
    taken = {stream: numbers.taken(stream) for stream in query.reads}
    known = {
        one.alias: [min(t.first for t in taken[one.stream]), max(t.end for t in taken[one.stream])]
        for one in query.streams
        if taken[one.stream]
    }
    return Owned(joined.details["own"], known, joined.details.get("own_slices"))
