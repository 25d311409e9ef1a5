from __future__ import annotations

from panelake.report.assets import assets, chart_script
from panelake.report.vendored import VENDOR, sha256_of, vendored_files


def test_the_library_is_what_its_packages_hold_with_their_licences() -> None:
    files = vendored_files()
    assert {file.package for file in files} == {"d3", "@observablehq/plot"}
    for file in files:
        assert sha256_of(file.target.read_bytes()) == file.sha256, file.name
        assert file.version.replace(".", "").isdigit()
    named = {"packages.json", *(file.name for file in files)}
    assert {path.name for path in VENDOR.iterdir()} == named, "every file is pinned"


def test_the_script_of_a_site_holds_the_licences_and_its_own_part_makes_no_code_or_markup_from_text() -> None:
    ((path, script),) = assets().items()
    assert path.startswith("assets/charts-")
    assert script == chart_script()
    assert script.count("this permission notice appear in all copies") == 2
    own = script[script.index("// Line charts.") :]
    for forbidden in ("eval(", "Function(", "innerHTML", "insertAdjacentHTML", "document.write", "import(", "fetch("):
        assert forbidden not in own
