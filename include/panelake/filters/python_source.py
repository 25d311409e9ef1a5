"""filters.py of a workspace: read, never imported, by whoever checks or plans; Spark's workers alone run its text.

A predicate is a function at the top of the file whose parameters are columns of the stream: it is given one Arrow array
for each, and gives an Arrow array of booleans.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from panelake.errors import Problem, WorkspaceError

FILTERS_FILE = "filters.py"


@dataclass(frozen=True)
class Function:
    """A function's parameters, its own text and line; `problem` says why it cannot be a predicate."""

    parameters: tuple[str, ...]
    text: str
    line: int
    problem: str | None = None


@dataclass(frozen=True)
class PythonSource:
    """The text of filters.py and the functions at its top."""

    text: str = ""
    functions: Mapping[str, Function] = field(default_factory=dict)


def read_python_source(root: Path) -> PythonSource:
    """The workspace's filters.py; empty where there is none, a WorkspaceError where it is not Python."""
    path = root / FILTERS_FILE
    if not path.is_file():
        return PythonSource()
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except UnicodeDecodeError as error:
        raise WorkspaceError([Problem(FILTERS_FILE, f"not UTF-8 text: {error.reason} at byte {error.start}")]) from None
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise WorkspaceError([Problem(FILTERS_FILE, f"not Python: {getattr(error, 'msg', error)}", line)]) from None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return PythonSource(text, {node.name: _function(text, node) for node in found})


def predicate_problems(
    source: PythonSource, name: str, stream: str, columns: Mapping[str, str]
) -> list[tuple[str, Function | None]]:
    """What is wrong with a function that a stream's `where` names, and the function if it is at fault itself."""
    function = source.functions.get(name)
    if function is None:
        there = ", ".join(source.functions) or ("none" if source.text else "the file is missing or empty")
        return [(f"{FILTERS_FILE} has no function {name!r} at its top; it has: {there}", None)]
    if function.problem:
        return [(f"{name}(): {function.problem}", function)]
    unknown = [parameter for parameter in function.parameters if parameter not in columns]
    return [
        (
            f"{name}(): parameter {parameter!r} is no column of stream {stream}; expected some of {', '.join(columns)}",
            function,
        )
        for parameter in unknown
    ]


def _function(text: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    given = node.args
    parameters = tuple(one.arg for one in (*given.posonlyargs, *given.args))
    own = ast.get_source_segment(text, node) or ""
    return Function(parameters, own, node.lineno, _problem(node, parameters))


def _problem(node: ast.FunctionDef | ast.AsyncFunctionDef, parameters: tuple[str, ...]) -> str | None:
    given = node.args
    if isinstance(node, ast.AsyncFunctionDef):
        return "is async; expected a plain function"
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or not parameters:
        return "expected one plain parameter for each column it reads, without defaults and stars"
    return None
