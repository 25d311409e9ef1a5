"""The window clause: [RANGE … SLIDE … WATTR … OFFSET …] → Window."""

from __future__ import annotations

import re
from dataclasses import dataclass

from panelake.durations import SECOND, is_calendar_unit, unit_microseconds
from panelake.language.problems import ProblemList
from panelake.language.query import Window, WindowKind
from panelake.language.source_text import Bracket

EXPECTED = "expected [RANGE 180 SECONDS SLIDE 60 SECONDS] or [RANGE 200 ROWS SLIDE 50 ROWS]"
_LARGEST = 2**60  # ends of windows must stay within 64-bit integers
_CLAUSE = re.compile(r"\s*([A-Za-z_]+)\s+([^\s]+(?:\s+(?!(?:RANGE|SLIDE|WATTR|OFFSET)\b)[^\s]+)*)", re.IGNORECASE)
_QUANTITY = re.compile(r"([0-9]{1,30})\s*([A-Za-z]*)")
_KINDS: dict[str, WindowKind] = {"row": "ROW", "rows": "ROW", "ts": "TS"}
_WORDS = ("RANGE", "SLIDE", "WATTR", "OFFSET")


@dataclass(frozen=True)
class _Quantity:
    """A number and what its unit makes of it; `kind` is None for a bare number."""

    offset: int
    number: int
    kind: WindowKind | None
    unit: int

    def in_kind(self, kind: WindowKind) -> int:
        return self.number * (SECOND if kind == "TS" and self.kind is None else self.unit)


def parse_window(bracket: Bracket, problems: ProblemList) -> Window | None:
    """The window a bracket means; None where it is wrong, and the problems tell why."""
    return _ClauseReader(bracket, problems).window()


class _ClauseReader:
    """Reads one bracket; every problem is recorded where it stands."""

    def __init__(self, bracket: Bracket, problems: ProblemList) -> None:
        self._bracket = bracket
        self._problems = problems
        self._parts: dict[str, tuple[int, str]] = {}
        self._failed = False

    def window(self) -> Window | None:
        self._split()
        quantities = {word: self._quantity(word) for word in ("RANGE", "SLIDE", "OFFSET") if word in self._parts}
        declared = self._declared_kind()
        if self._failed or not self._is_complete():
            return None
        found: dict[str, _Quantity] = {word: quantity for word, quantity in quantities.items() if quantity is not None}
        kind = self._kind(found, declared)
        return None if kind is None else self._build(found, kind)

    def _split(self) -> None:
        at = 0
        text = self._bracket.text
        while at < len(text.rstrip()):
            match = _CLAUSE.match(text, at)
            word = match[1].upper() if match else ""
            if match is None or word not in _WORDS:
                self._fail(at, f"[{text.strip()}] is not a window clause; {EXPECTED}")
                return
            if word in self._parts:
                self._fail(match.start(1), f"{word} is given twice; give it once")
            self._parts[word] = (match.start(2), match[2].strip())
            at = match.end()

    def _quantity(self, word: str) -> _Quantity | None:
        at, text = self._parts[word]
        match = _QUANTITY.fullmatch(text)
        if match is None:
            self._fail(at, f"{word} {text} is not a whole number with a unit; expected one such as {word} 60 SECONDS")
            return None
        return self._measured(word, at, int(match[1]), match[2])

    def _measured(self, word: str, at: int, number: int, unit: str) -> _Quantity | None:
        if number == 0 and word != "OFFSET":
            self._fail(at, f"{word} 0 makes no window; expected at least 1")
        if not unit:
            return _Quantity(at, number, None, 1)
        if unit.lower() in ("row", "rows"):
            return _Quantity(at, number, "ROW", 1)
        microseconds = unit_microseconds(unit)
        if microseconds is not None:
            return _Quantity(at, number, "TS", microseconds)
        reason = "months and years vary in length; use days or weeks"
        if not is_calendar_unit(unit):
            reason = "unknown unit; expected ROWS or a unit from MICROSECONDS to WEEKS"
        self._fail(at, f"{word} {number} {unit}: {reason}")
        return None

    def _declared_kind(self) -> WindowKind | None:
        if "WATTR" not in self._parts:
            return None
        at, text = self._parts["WATTR"]
        kind = _KINDS.get(text.lower())
        if kind is None:
            self._fail(at, f"WATTR {text} is unknown; expected WATTR TS (time) or WATTR ROW (tuples)")
        return kind

    def _is_complete(self) -> bool:
        for word in ("RANGE", "SLIDE"):
            if word not in self._parts:
                self._fail(-1, f"the window has no {word}; {EXPECTED}")
        return not self._failed

    def _kind(self, quantities: dict[str, _Quantity], declared: WindowKind | None) -> WindowKind | None:
        kind = declared or quantities["RANGE"].kind or quantities["SLIDE"].kind
        if kind is None:
            self._fail(
                -1, f"the window has bare numbers; add WATTR ROW (tuples) or WATTR TS (seconds), or units: {EXPECTED}"
            )
            return None
        if kind == "ROW" and "OFFSET" in quantities:
            self._fail(
                quantities["OFFSET"].offset, "OFFSET moves a time window's grid; a window of rows has none: remove it"
            )
            return None
        for word, quantity in quantities.items():
            self._check_kind(word, quantity, kind, is_declared=declared is not None)
        return None if self._failed else kind

    def _check_kind(self, word: str, quantity: _Quantity, kind: WindowKind, *, is_declared: bool) -> None:
        if quantity.kind is None and not is_declared:
            self._fail(
                quantity.offset, f"{word} {quantity.number} has no unit, while the window has; give both the same"
            )
        elif quantity.kind not in (None, kind):
            wanted = "a time unit" if kind == "TS" else "ROWS"
            self._fail(quantity.offset, f"{word} does not agree with the window's kind {kind}; expected {wanted}")

    def _build(self, quantities: dict[str, _Quantity], kind: WindowKind) -> Window | None:
        self._check_sizes(quantities, kind)
        if self._failed:
            return None
        sizes = {word: quantity.in_kind(kind) for word, quantity in quantities.items()}
        return Window(kind, sizes["RANGE"], sizes["SLIDE"], sizes.get("OFFSET", 0) % sizes["SLIDE"])

    def _check_sizes(self, quantities: dict[str, _Quantity], kind: WindowKind) -> None:
        for word, quantity in quantities.items():
            if quantity.in_kind(kind) > _LARGEST:
                self._fail(quantity.offset, f"{word} {quantity.number} is too large; expected less than 36,000 years")

    def _fail(self, at: int, message: str) -> None:
        self._failed = True
        self._problems.add(self._bracket.start + 1 + at, message)
