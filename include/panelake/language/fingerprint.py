"""A query's meaning as one stable number: it changes when the answers could."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from panelake.language.query import AggregateQuery, JoinQuery

# What never changes an answer: how a query is called, and how often a join runs.
_NO_MEANING = ("name", "file", "fingerprint", "every")


def fingerprint_of(query: AggregateQuery | JoinQuery) -> str:
    """The sha256 of everything that decides the query's answers; name, file, blanks and comments do not."""
    meaning = {name: value for name, value in dataclasses.asdict(query).items() if name not in _NO_MEANING}
    # A tuple counts if all conditions hold, in whatever order they are written.
    _sort(meaning, "conditions", "filters")
    for stream in meaning.get("streams", ()):
        _sort(stream, "conditions")
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode()).hexdigest()


def _sort(meaning: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in meaning:
            meaning[name] = sorted(set(meaning[name]))
