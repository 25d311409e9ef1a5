"""YAML read with the line of every key, so that an error can say where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from panelake.errors import Problem, WorkspaceError

KeyPath = tuple[str | int, ...]
_MOST_VALUES = 100_000  # aliases make a small file mean more than any memory holds


@dataclass(frozen=True)
class YamlFile:
    """Plain values and, for each key path, its line (counted from 1)."""

    name: str
    values: Any
    lines: dict[KeyPath, int] = field(default_factory=dict)

    def line_of(self, path: Sequence[str | int]) -> int:
        """The line of the key, or of the nearest one above it that stands in the file."""
        for length in range(len(path), -1, -1):
            line = self.lines.get(tuple(path[:length]))
            if line is not None:
                return line
        return 1

    def problem(self, path: Sequence[str | int], message: str) -> Problem:
        return Problem(self.name, message, self.line_of(path))


def read_yaml(path: Path, name: str) -> YamlFile:
    """Read one document; a missing file, broken syntax or a key given twice is a WorkspaceError."""
    text = _read_text(path, name)
    try:
        return _parsed(text, name)
    except RecursionError:
        raise WorkspaceError([Problem(name, "is nested too deeply to be read")]) from None


def _parsed(text: str, name: str) -> YamlFile:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        problem = Problem(name, f"not YAML: {error.problem}", *((mark.line + 1, mark.column + 1) if mark else ()))
        raise WorkspaceError([problem]) from None
    except yaml.YAMLError as error:
        raise WorkspaceError([Problem(name, f"not YAML: {error}")]) from None
    reader = _Reader(name)
    values = reader.value(node, ()) if node is not None else None
    if reader.problems:
        raise WorkspaceError(reader.problems)
    return YamlFile(name, values, reader.lines)


def _read_text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise WorkspaceError([Problem(name, f"not UTF-8 text: {error.reason} at byte {error.start}")]) from None
    except OSError as error:
        message = f"cannot be read ({error.strerror}); expected at {path}"
        raise WorkspaceError([Problem(name, message)]) from None


def shortened(value: object, length: int = 60) -> str:
    """A value as an error shows it."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 1] + "…"


class _Reader:
    """Turns nodes into values while noting lines and repeated keys."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[KeyPath, int] = {}
        self.problems: list[Problem] = []
        self._scalars = yaml.constructor.SafeConstructor()
        self._open: set[int] = set()
        self._values = 0

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise WorkspaceError([self._problem(node, f"holds more than {_MOST_VALUES} values, aliases followed")])
        self.lines.setdefault(path, node.start_mark.line + 1)
        if id(node) in self._open:
            self.problems.append(self._problem(node, "a YAML alias refers to itself"))
            return None
        self._open.add(id(node))
        try:
            return self._plain(node, path)
        finally:
            self._open.discard(id(node))

    def _plain(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else str(key_node.start_mark)
            if key in result:
                self.problems.append(self._problem(key_node, f"key {key!r} is given twice; keep one"))
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = self.value(value_node, (*path, key))
        return result

    def _scalar(self, node: yaml.Node) -> Any:
        try:
            return self._scalars.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError) as error:
            self.problems.append(self._problem(node, f"{node.value!r} cannot be read: {error}"))
            return None

    def _problem(self, node: yaml.Node, message: str) -> Problem:
        return Problem(self.name, message, node.start_mark.line + 1, node.start_mark.column + 1)
