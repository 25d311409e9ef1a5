"""Addresses as messages and logs may show them."""

from __future__ import annotations

import re

# A Connect URL's parameters may hold a token, what stands before an @ a password.
_PARAMETERS = re.compile(r"(sc:/?/?[^;]*?)/?;.*", re.DOTALL)
_LOGIN = re.compile(r"(?<=://)[^/@]*@")


def shown(address: str) -> str:
    """The address without what only its owner may know."""
    return _LOGIN.sub("…@", _PARAMETERS.sub(r"\1/;…", address))
