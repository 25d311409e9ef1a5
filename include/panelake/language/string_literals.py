r"""Spark's string literals: what their text means, and how to write a value so that it means the same.

Spark drops the backslash of an unknown escape ('\d' is 'd'), keeps it before % and _, and takes '' for one quote.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-1][0-7]{2}|.)", re.DOTALL)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
# `${` is substituted by Spark even inside a literal, so no bare dollar may be written.
_WRITTEN = str.maketrans(
    {
        "\\": "\\\\",
        "'": "\\'",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\0": "\\u0000",
        "\x1a": "\\u001a",
        "$": "\\u0024",
    }
)


def decode_string(body: str, quote: str) -> str:
    """The value of a literal, given the text between its quotes; ValueError where an escape is no character."""
    parts = []
    end = 0
    for match in _ESCAPE.finditer(body):
        parts += [body[end : match.start()].replace(quote * 2, quote), _unescape(match[1])]
        end = match.end()
    parts.append(body[end:].replace(quote * 2, quote))
    value = "".join(parts)
    return value.encode("utf-16", "surrogatepass").decode("utf-16")


def encode_string(value: str) -> str:
    """A Spark literal, quotes included, that means exactly this value."""
    return "'" + value.translate(_WRITTEN) + "'"


def _unescape(code: str) -> str:
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    if len(code) > 1:
        return chr(int(code, 8))
    return _NAMED.get(code, code)
