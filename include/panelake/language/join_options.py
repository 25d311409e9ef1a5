"""The options of a join: WITH (EVERY …, MEMORY … ROWS, SHED BY …), lifted out of the text before SQL is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from panelake.durations import format_duration, is_calendar_unit, unit_microseconds
from panelake.kernels.joins.join_spec import DEFAULT_POLICY, POLICIES
from panelake.language.problems import ProblemList

EXPECTED = "expected WITH (EVERY 30 SECONDS, MEMORY 15000 ROWS, SHED BY arrival_order), each part optional"
_CLAUSE = re.compile(r"\bWITH\s*\(([^()]*)\)\s*;?\s*\Z", re.IGNORECASE)
_PART = re.compile(r"\s*(EVERY|MEMORY|SHED\s+BY)\s+(.*?)\s*", re.IGNORECASE | re.DOTALL)
_QUANTITY = re.compile(r"([0-9]{1,18})\s*([A-Za-z]*)")
_MOST_ROWS = 2**31


@dataclass(frozen=True)
class OptionsText:
    """Where the clause stands, and what stands between its brackets."""

    start: int
    inner: int
    text: str


@dataclass
class JoinOptions:
    """Te in microseconds and where it is given, rows a stream, and the policy."""

    every: int | None = None
    memory: int | None = None
    policy: str = ""
    every_at: int = 0


def lift_options(plain: str) -> tuple[str, OptionsText | None]:
    """The text without its options, as long as before, and the options."""
    match = _CLAUSE.search(plain)
    if match is None or not plain[: match.start()].strip():
        return plain, None
    blank = "".join("\n" if char == "\n" else " " for char in plain[match.start() : match.end()])
    return plain[: match.start()] + blank, OptionsText(match.start(), match.start(1), match[1])


def read_options(found: OptionsText | None, problems: ProblemList) -> JoinOptions:
    """What the clause says; everything wrong with it is a problem."""
    options = JoinOptions()
    if found is None:
        return options
    seen: set[str] = set()
    at = found.inner
    for part in found.text.split(","):
        _read_part(part, at, options, seen, problems)
        at += len(part) + 1
    if "SHED BY" in seen and "MEMORY" not in seen:
        problems.add(found.start, "SHED BY without MEMORY: nothing is shed where there is no limit; add MEMORY n ROWS")
    if options.memory is not None and not options.policy:
        options.policy = DEFAULT_POLICY
    return options


def _read_part(part: str, at: int, options: JoinOptions, seen: set[str], problems: ProblemList) -> None:
    match = _PART.fullmatch(part)
    at += len(part) - len(part.lstrip())
    if match is None:
        problems.add(at, f"{part.strip()!r} is not an option of a join; {EXPECTED}")
        return
    word = " ".join(match[1].upper().split())
    if word in seen:
        problems.add(at, f"{word} is given twice; give it once")
    seen.add(word)
    if word == "EVERY":
        options.every, options.every_at = _duration(match[2], at, problems), at
    elif word == "MEMORY":
        options.memory = _rows(match[2], at, problems)
    else:
        options.policy = _policy(match[2], at, problems)


def _duration(text: str, at: int, problems: ProblemList) -> int | None:
    match = _QUANTITY.fullmatch(text)
    unit = unit_microseconds(match[2]) if match else None
    if match is not None and unit is not None and int(match[1]) > 0:
        return int(match[1]) * unit
    reason = "expected a whole number and a unit such as EVERY 30 SECONDS"
    if match is not None and is_calendar_unit(match[2]):
        reason = "months and years vary in length; use days or weeks"
    problems.add(at, f"EVERY {text}: {reason}")
    return None


def _rows(text: str, at: int, problems: ProblemList) -> int | None:
    match = _QUANTITY.fullmatch(text)
    if match is not None and match[2].lower() in {"row", "rows"} and 0 < int(match[1]) <= _MOST_ROWS:
        return int(match[1])
    problems.add(at, f"MEMORY {text}: expected rows a stream from 1 to {_MOST_ROWS:,}, such as MEMORY 15000 ROWS")
    return None


def _policy(text: str, at: int, problems: ProblemList) -> str:
    if text.lower() in POLICIES:
        return text.lower()
    near = get_close_matches(text.lower(), POLICIES, n=1)
    hint = f", did you mean {near[0]}?" if near else ""
    problems.add(at, f"SHED BY {text}: unknown policy{hint}; expected one of {', '.join(POLICIES)}")
    return DEFAULT_POLICY


def check_period(options: JoinOptions, slide: int, problems: ProblemList) -> int:
    """Te, the slide where none is given; it must divide the slide."""
    if options.every is None:
        return slide
    if options.every > slide or slide % options.every:
        every, slid = format_duration(options.every), format_duration(slide)
        what = "is longer than" if options.every > slide else "does not divide"
        problems.add(options.every_at, f"EVERY {every} {what} SLIDE {slid}; expected a part of it that divides it")
    return options.every
