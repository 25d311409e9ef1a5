"""A figure of a paper: how it is measured, how it is drawn, what was claimed, and how that is judged from the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from panelake.experiments.table import Row, Table

Outcome = Literal["holds", "holds in part", "does not hold"]


@dataclass(frozen=True)
class Scale:
    """How large an experiment is: `quick` for a look, else as the paper has it."""

    quick: bool
    seeds: tuple[int, ...]


QUICK = Scale(quick=True, seeds=(1, 2))
FULL = Scale(quick=False, seeds=(1, 2, 3))


@dataclass(frozen=True)
class Panel:
    """One plot of a figure; its name is that of its rows. Bars where x is a name, lines where it is a number."""

    name: str
    x: str
    y: str
    logarithmic: bool = False
    logarithmic_x: bool = False


class Drawn(Protocol):
    """What a picture needs to be drawn."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def panels(self) -> tuple[Panel, ...]: ...


@dataclass(frozen=True)
class Check:
    """One thing a paper says, held against the rows: what was found, and why where it is not so."""

    says: str
    found: str
    holds: bool
    because: str = ""


@dataclass(frozen=True)
class Verdict:
    """The checks of one figure together."""

    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        held = sum(check.holds for check in self.checks)
        if held == len(self.checks):
            return "holds"
        return "holds in part" if held else "does not hold"

    @property
    def measured(self) -> str:
        return "; ".join(check.found for check in self.checks)

    @property
    def why(self) -> str:
        """What failed and why; where nothing did, that each claim was met."""
        reasons: dict[str, list[str]] = {}
        for check in self.checks:
            if not check.holds:
                reasons.setdefault(check.because, []).append(check.says)
        failed = (f"{', nor '.join(says)}" + (f" ({because})" if because else "") for because, says in reasons.items())
        return "; ".join(f"not so: {text}" for text in failed) or "every claim checked was met"


@dataclass(frozen=True)
class Figure:
    """Measure → rows → CSV → plot → verdict; `ours` judges what the paper does not know of, shown beside it."""

    name: str
    paper: str
    title: str
    claim: str
    panels: tuple[Panel, ...]
    measure: Callable[[Scale], Iterable[Row]]
    judge: Callable[[Table], Sequence[Check]]
    ours: Callable[[Table], str]

    def rows(self, scale: Scale) -> Iterator[Row]:
        yield from self.measure(scale)

    def verdict(self, table: Table) -> Verdict:
        return Verdict(tuple(self.judge(table)))
