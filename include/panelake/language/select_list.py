"""SELECT and GROUP BY together: which items are keys, which are outputs, and what the aggregates are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from panelake.language.aggregates import is_aggregate, to_call
from panelake.language.columns import Columns, quoted_column, spelling_in
from panelake.language.dialect import render
from panelake.language.expressions import ExpressionChecker, Place, unwrap
from panelake.language.join_columns import JoinColumns
from panelake.language.problems import ProblemList
from panelake.language.query import AggregateCall, GroupKey, Output

_RESERVED = ("window_start", "window_end")
_BAD_CHARACTERS = " ,;{}()\n\t="  # Delta refuses them in a column's name


@dataclass(frozen=True)
class SelectItem:
    """One item of SELECT: its name, if it has one, and its expression, whether that is right or not."""

    node: exp.Expr
    alias: str | None
    expression: exp.Expr
    is_right: bool


@dataclass(frozen=True)
class KeyExpression:
    """A group key with the tree it is recognised by."""

    alias: str
    expression: exp.Expr
    item: SelectItem | None


_AGGREGATING = Place("SELECT", may_aggregate=True)


def read_items(select: exp.Select, checker: ExpressionChecker, place: Place = _AGGREGATING) -> list[SelectItem]:
    """Check the SELECT list; a plain column names itself."""
    return [_read_item(node, checker, place) for node in select.expressions]


def _read_item(node: exp.Expr, checker: ExpressionChecker, place: Place) -> SelectItem:
    holder = node if isinstance(node, exp.Alias) else exp.Paren(this=node.copy())
    is_right = checker.check(holder.this, place)
    expression = unwrap(holder.this)
    own_name = checker.columns.own_name(expression.name) if isinstance(expression, exp.Column) else None
    return SelectItem(node, node.alias if isinstance(node, exp.Alias) else own_name, expression, is_right)


def read_keys(
    group: exp.Group | None, items: list[SelectItem], checker: ExpressionChecker, problems: ProblemList
) -> list[KeyExpression]:
    """The group keys, each under its SELECT alias."""
    if group is None:
        return []
    for option in ("all", "rollup", "cube", "grouping_sets", "totals"):
        if group.args.get(option):
            written = option.replace("_", " ").upper()
            problems.add_node(group, f"GROUP BY {written} is not supported; name the keys: GROUP BY a, b")
    keys: list[KeyExpression] = []
    for node in group.expressions:
        key = _read_key(node, items, checker, problems)
        if key is not None and key.item is not None and key.alias in {known.alias for known in keys}:
            problems.add_node(node, f"the group key {key.alias!r} is given twice; keep one")
        elif key is not None:
            keys.append(key)
    return keys


def _read_key(
    node: exp.Expr, items: list[SelectItem], checker: ExpressionChecker, problems: ProblemList
) -> KeyExpression | None:
    if isinstance(node, exp.Literal) and not node.is_string:
        problems.add_node(node, f"GROUP BY {node.name}: a position is not supported; name the column or its alias")
        return None
    item = _item_named(node, items, checker.columns)
    if item is None:
        return _key_by_expression(node, items, checker, problems)
    if any(is_aggregate(part) for part in item.expression.walk()):
        problems.add_node(node, f"GROUP BY {item.alias}: an aggregate cannot stand in GROUP BY")
        return None
    return KeyExpression(item.alias or "", item.expression, item)


def _item_named(node: exp.Expr, items: list[SelectItem], columns: Columns | JoinColumns) -> SelectItem | None:
    """The item whose alias a key names; as in Spark, a column of the stream comes first."""
    if not isinstance(node, exp.Column) or node.table or columns.spelling(node.name):
        return None
    by_alias = {item.alias: item for item in items if item.alias}
    alias = spelling_in(node.name, by_alias)
    return by_alias[alias] if alias else None


def _key_by_expression(
    node: exp.Expr, items: list[SelectItem], checker: ExpressionChecker, problems: ProblemList
) -> KeyExpression | None:
    holder = exp.Paren(this=node.copy())
    if not checker.check(holder.this, Place("GROUP BY")):
        return None
    expression = unwrap(holder.this)
    item = next((item for item in items if item.expression == expression), None)
    alias = item.alias if item else expression.name if isinstance(expression, exp.Column) else None
    if alias is None:
        problems.add_node(
            node, f"the group key {render(expression)} has no name; select it with one: {render(expression)} AS name"
        )
        return None
    return KeyExpression(alias, expression, item)


@dataclass
class Lowering:
    """Rewrites expressions over aggregates to placeholders `_a0`, `_a1`, … and key aliases."""

    keys: list[KeyExpression]
    problems: ProblemList
    _calls: dict[AggregateCall, int] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[AggregateCall, ...]:
        return tuple(self._calls)

    def lower(self, expression: exp.Expr) -> str:
        """The Spark SQL over placeholders; a column that is neither key nor aggregated is a problem."""
        lowered = expression.transform(self._replace)
        return render(lowered)

    def _replace(self, node: exp.Expr) -> exp.Expr:
        for key in self.keys:
            if node == key.expression:
                return quoted_column(key.alias)
        if isinstance(node, exp.Anonymous) and is_aggregate(node):
            return quoted_column(f"_a{self._calls.setdefault(to_call(node), len(self._calls))}")
        if isinstance(node, exp.Column):
            self.problems.add_node(
                node, f"{node.name!r} is not a group key; add it to GROUP BY, or aggregate it: max({node.name})"
            )
        return node


def lower_outputs(items: list[SelectItem], lowering: Lowering) -> list[Output]:
    """The selected items that are not keys themselves."""
    key_items = [key.item for key in lowering.keys]
    outputs = []
    for item in items:
        if not item.is_right or any(item is key_item for key_item in key_items):
            continue
        lowered = lowering.lower(item.expression)
        if item.alias is None:
            written = render(item.expression)
            lowering.problems.add_node(item.node, f"{written} has no name; give it one: {written} AS name")
        else:
            outputs.append(Output(item.alias, lowered))
    return outputs


def to_group_keys(keys: list[KeyExpression]) -> tuple[GroupKey, ...]:
    """The keys as the planner and the stages read them."""
    return tuple(GroupKey(key.alias, render(key.expression)) for key in keys)


def check_names(names: Iterable[tuple[exp.Expr, str]], problems: ProblemList) -> None:
    """Refuse names of gold columns that clash, are kept for Panelake, or that Delta cannot store."""
    seen: set[str] = set()
    for node, name in names:
        lower = name.lower()
        if lower in _RESERVED or name.startswith("_"):
            problems.add_node(node, f"the name {name!r} is kept for Panelake's own columns; choose another alias")
        if any(char in name for char in _BAD_CHARACTERS) or not name:
            problems.add_node(node, f"the name {name!r} cannot be a column of a Delta table; use letters, digits and _")
        if lower in seen:
            problems.add_node(node, f"two columns are named {name!r} (case does not count); give each its own alias")
        seen.add(lower)
