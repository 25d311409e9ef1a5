"""Values put into a page for its script, such that nothing the data says can end the element or begin another."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

# Inside a script element only these can end it or open a comment; in JSON they occur in texts alone.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def embedded_json(value: Any) -> Markup:
    """The value as JSON for `<script type="application/json">`; what is not a number must be None."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - escaped just here
