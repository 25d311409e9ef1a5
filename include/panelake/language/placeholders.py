"""Expressions over placeholders: which they name, and what they are with these replaced by what they stand for.

Queries of one workspace say the same again and again, in every slice: each text is read once.
"""

from __future__ import annotations

from functools import lru_cache

from sqlglot import exp, parse_one

from panelake.language.dialect import WindowSql, render

Meanings = tuple[tuple[str, str], ...]
_KEPT = 65_536


@lru_cache(maxsize=_KEPT)
def names_in(expression: str) -> frozenset[str]:
    """The columns and placeholders that an expression names."""
    return frozenset(column.name for column in parse_one(expression, dialect=WindowSql).find_all(exp.Column))


@lru_cache(maxsize=_KEPT)
def replaced(expression: str, meanings: Meanings) -> str:
    """The expression with each name replaced by the SQL that it means."""
    trees = {name: parse_one(sql, dialect=WindowSql) for name, sql in meanings}

    def meant(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in trees:
            found = trees[node.name].copy()
            return found if isinstance(found, exp.Column) else exp.paren(found)
        return node

    return render(parse_one(expression, dialect=WindowSql).transform(meant))
