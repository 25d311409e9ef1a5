"""A query's meaning as one stable number: it changes when the answers could."""

from __future__ import annotations

import dataclasses
import hashlib
import json

from panelake.language.query import AggregateQuery


def fingerprint_of(query: AggregateQuery) -> str:
    """The sha256 of everything that decides the query's answers; name, file, blanks and comments do not."""
    meaning = dataclasses.asdict(query)
    for name in ("name", "file", "fingerprint"):
        del meaning[name]
    # A tuple counts if all conditions hold, in whatever order they are written.
    meaning["conditions"] = sorted(set(query.conditions))
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()
