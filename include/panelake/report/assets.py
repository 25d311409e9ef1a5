"""What the pages share: the chart library and the script that draws with it, as one file of the site.

One copy a site and not one a page, since it is half a megabyte. Its name holds its checksum: a page never meets
another version's script, and a browser may keep it for ever.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from panelake.report.vendored import VENDOR, sha256_of

ASSETS = "assets"
_SCRIPTS = Path(__file__).with_name("scripts")
_LIBRARIES = ("d3", "plot")
_OWN = ("lines.js", "heat_map.js", "charts.js")


@cache
def chart_script() -> str:
    """The libraries, each after its licence, then the report's own script."""
    parts = []
    for name in _LIBRARIES:
        (library,) = VENDOR.glob(f"{name}.*min.js")
        licence = (VENDOR / f"{name}.LICENSE").read_text(encoding="utf-8")
        parts += [f"/*!\n{licence.strip()}\n*/", library.read_text(encoding="utf-8")]
    parts += [(_SCRIPTS / name).read_text(encoding="utf-8") for name in _OWN]
    return "\n;\n".join(part.strip() for part in parts) + "\n"


@cache
def chart_script_path() -> str:
    """Where the script lies below the report."""
    return f"{ASSETS}/charts-{sha256_of(chart_script().encode())[:16]}.js"


def assets() -> dict[str, str]:
    """The files that every site holds, by path."""
    return {chart_script_path(): chart_script()}
