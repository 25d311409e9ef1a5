"""Makes a query's text plain enough for the SQL parser without moving anything.

Comments become blanks, window clauses are lifted out, and the body of every string literal is replaced by a
stand-in of the same length, so that each later position is a position in the user's file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from panelake.language.problems import ProblemList
from panelake.language.string_literals import decode_string

_MARK = re.compile(r"--|/\*|(?<!\w)[rR](?=['\"])|['\"`\[\]]|\|>")
_LINE_COMMENT = re.compile(r"--(?:\\\r?\n|[^\r\n])*")
_BLOCK_MARK = re.compile(r"/\*|\*/")
_QUOTED = {quote: re.compile(rf"{quote}((?:[^{quote}\\]|\\.|{quote}{quote})*){quote}", re.DOTALL) for quote in "'\""}
_RAW = {quote: re.compile(rf"{quote}([^{quote}]*){quote}") for quote in "'\""}
_NAME = re.compile(r"`(?:[^`]|``)*`")
_LETTER_PREFIX = re.compile(r"(?<!\w)[A-Za-z]$")
_FIRST_STAND_IN = 0xE000  # the private-use area: no SQL token
_STAND_INS = 0xF8FF - _FIRST_STAND_IN + 1


@dataclass(frozen=True)
class Bracket:
    """The text between [ and ], and the offsets of the two."""

    start: int
    end: int
    text: str


@dataclass
class SourceText:
    """The plain text, the brackets lifted out of it and the values of its string literals."""

    text: str
    problems: ProblemList
    brackets: list[Bracket] = field(default_factory=list)
    _literals: list[str] = field(default_factory=list)
    _plain: list[str] = field(default_factory=list)
    _open: int | None = None

    def __post_init__(self) -> None:
        self._plain = list(self.text.replace("\r", " "))
        at: int | None = 0
        while at is not None:
            at = self._take_next(at)
        if self._open is not None:
            self.problems.add(self._open, "this [ is never closed; expected ] after the window's SLIDE")

    @property
    def plain(self) -> str:
        """The text for the SQL parser: as long as the original, line for line."""
        return "".join(self._plain)

    def literal(self, stand_in: str) -> str:
        """The value of the literal a stand-in was put for; other text is returned as it is."""
        index = ord(stand_in[0]) - _FIRST_STAND_IN if stand_in else -1
        return self._literals[index] if 0 <= index < len(self._literals) else stand_in

    def _take_next(self, at: int) -> int | None:
        mark = _MARK.search(self.text, at)
        if mark is None:
            return None
        takers = {"--": self._line_comment, "/*": self._block_comment, "|>": self._pipe, "`": self._name}
        takers |= {"[": self._open_bracket, "]": self._close_bracket, "r": self._raw, "R": self._raw}
        return takers.get(mark[0], self._string)(mark.start())

    def _line_comment(self, at: int) -> int:
        match = _LINE_COMMENT.match(self.text, at)
        end = match.end() if match else len(self.text)
        return self._blank(at, end)

    def _block_comment(self, at: int) -> int:
        depth = 0
        for mark in _BLOCK_MARK.finditer(self.text, at):
            depth += 1 if mark[0] == "/*" else -1
            if depth == 0:
                return self._blank(at, mark.end())
        return self._unclosed(at, "this comment is never closed; expected */")

    def _pipe(self, at: int) -> int:
        self.problems.add(at, "the |> operator is not supported; write SELECT … FROM … WHERE … GROUP BY")
        return at + 2

    def _name(self, at: int) -> int:
        match = _NAME.match(self.text, at)
        return (
            match.end() if match else self._unclosed(at, "this ` is never closed; expected a second ` after the name")
        )

    def _raw(self, at: int) -> int:
        match = _RAW[self.text[at + 1]].match(self.text, at + 1)
        if match is None:
            return self._unclosed(at, "this string is never closed")
        self._blank(at, at + 1)
        return self._stand_in(match, match[1])

    def _string(self, at: int) -> int:
        quote = self.text[at]
        match = _QUOTED[quote].match(self.text, at)
        if match is None:
            return self._unclosed(at, f"this string is never closed; expected a second {quote}")
        if _LETTER_PREFIX.search(self.text[max(0, at - 2) : at]):
            self.problems.add(at - 1, f"{self.text[at - 1]}{quote}…{quote} is not supported; write a plain string")
        return self._stand_in(match, self._decode(at, match[1], quote))

    def _decode(self, at: int, body: str, quote: str) -> str:
        try:
            return decode_string(body, quote)
        except ValueError:
            self.problems.add(at, "an escape in this string is not a character; expected \\uXXXX or \\UXXXXXXXX")
            return ""

    def _stand_in(self, match: re.Match[str], value: str) -> int:
        if len(self._literals) >= _STAND_INS:
            self.problems.add(match.start(), f"more than {_STAND_INS} strings in one query; split it")
            return match.end()
        start, end = match.span(1)
        self._plain[start:end] = chr(_FIRST_STAND_IN + len(self._literals)) * (end - start)
        self._plain[start - 1] = self._plain[end] = "'"
        self._literals.append(value)
        return match.end()

    def _open_bracket(self, at: int) -> int:
        if self._open is not None:
            self.problems.add(at, "a [ inside a window clause; expected ] first")
        self._open = at
        return at + 1

    def _close_bracket(self, at: int) -> int:
        if self._open is None:
            self.problems.add(at, "this ] closes nothing; remove it")
            return self._blank(at, at + 1)
        inner = "".join(self._plain[self._open + 1 : at])
        self.brackets.append(Bracket(self._open, at, inner))
        self._blank(self._open, at + 1)
        self._open = None
        return at + 1

    def _blank(self, start: int, end: int) -> int:
        self._plain[start:end] = ["\n" if char == "\n" else " " for char in self._plain[start:end]]
        return end

    def _unclosed(self, at: int, message: str) -> int:
        self.problems.add(at, message)
        return self._blank(at, len(self.text))
