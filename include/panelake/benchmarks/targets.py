"""What a benchmark was to reach, and whether it did: one shape for all of them, so that one page can show them."""

from __future__ import annotations

from typing import Any, TypeAlias

Target: TypeAlias = dict[str, Any]


def at_most(what: str, value: float, limit: float) -> Target:
    """Reached from below."""
    return _target(what, value, f"at most {limit:g}", reached=value <= limit)


def at_least(what: str, value: float, limit: float) -> Target:
    """Reached from above."""
    return _target(what, value, f"at least {limit:g}", reached=value >= limit)


def below(what: str, value: float, limit: float) -> Target:
    """Reached by what is truly less, as one rival is than another."""
    return _target(what, value, f"below {_short(limit):g}", reached=value < limit)


def told(what: str, value: float) -> Target:
    """A figure beside the targets that is held against none."""
    return {"what": what, "value": _short(value), "target": None, "reached": None}


def missed(found: list[Target]) -> list[Target]:
    """Those that were not reached."""
    return [one for one in found if one["reached"] is False]


def _target(what: str, value: float, target: str, *, reached: bool) -> Target:
    return {"what": what, "value": _short(value), "target": target, "reached": bool(reached)}


def _short(value: float) -> float:
    return float(f"{value:.4g}")
