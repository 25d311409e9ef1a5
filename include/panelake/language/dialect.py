"""Spark's SQL with as little rewriting as possible: what a user calls is what Spark will be asked for.

sqlglot's own function table translates calls between dialects; with it emptied, every call stays as written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from panelake.language.string_literals import encode_string

# Where a predicate may stand bare; anywhere else `NOT a IN (1)` must be bracketed.
_PREDICATE_PLACES = (exp.And, exp.Or, exp.Not, exp.Paren, exp.If, exp.Case, exp.Anonymous, exp.Where, exp.Having)


class WindowSql(Spark):
    """The dialect in which queries are read and their expressions written."""

    class Parser(SparkParser):
        """Keeps calls as written; CAST and TRY_CAST stay different."""

        STRICT_CAST = True
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            "CAST": SparkParser.FUNCTION_PARSERS["CAST"],
            "TRY_CAST": SparkParser.FUNCTION_PARSERS["TRY_CAST"],
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
            "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"],
        }

    class Generator(SparkGenerator):
        """Writes strings by Spark's own escapes, and brackets negations where they would bind wrongly."""

        def literal_sql(self, expression: exp.Literal) -> str:
            return encode_string(expression.name) if expression.is_string else str(expression.name)

        def not_sql(self, expression: exp.Not) -> str:
            written = f"NOT {self.sql(expression, 'this')}"
            bare = expression.parent is None or isinstance(expression.parent, _PREDICATE_PLACES)
            return written if bare else f"({written})"


def render(expression: exp.Expr) -> str:
    """The Spark SQL of a checked expression."""
    return expression.sql(dialect=WindowSql, comments=False, normalize_functions=False)
