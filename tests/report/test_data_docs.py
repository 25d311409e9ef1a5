"""Data Docs of a slice: what Great Expectations renders, without what could run, load or lead anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from panelake.quality import gate
from panelake.quality.metric import equal, none
from panelake.report.build import build_report
from panelake.report.data_docs import DataDocs, docs_of
from panelake.slices import Slice, parse_instant

EVIL = "<script>alert(1)</script>"
MINUTE = 60_000_000
ORIGIN = parse_instant("2026-01-01T00:00:00Z")


def part_at(place: int) -> Slice:
    return Slice(ORIGIN + place * 5 * MINUTE, ORIGIN + (place + 1) * 5 * MINUTE)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, new_world: Any) -> tuple[Any, Slice, str]:
    """A world, a slice of it, and the text of the slice's Data Docs."""
    world = new_world(tmp_path_factory.mktemp("docs") / "world")
    world.record([0, 1])
    part = part_at(1)
    docs = DataDocs()
    gate.judged([equal("bronze/traffic", "conservation", 5, 5), none("gold/jams", "twice", 3, "once")], docs.add)
    docs.add("own expectations", evil_result())
    docs.write(world.context, part)
    return world, part, Path(world.catalog.report, docs_of(part)).read_text()


def evil_result() -> Any:
    gx = gate.load_expectations()
    source = gate.quiet_context().data_sources.add_pandas("own").add_dataframe_asset("own")
    whole = source.add_batch_definition_whole_dataframe("own")
    batch = whole.get_batch({"dataframe": pd.DataFrame({"area": [EVIL, "north"]})})
    rule = gx.expectations.ExpectColumnValuesToBeInSet(column="area", value_set=["north", f"{EVIL}2"])
    return batch.validate(gx.ExpectationSuite("own", [rule]), result_format="COMPLETE")


def test_failed_rules_are_named_by_table(page: tuple[Any, Slice, str]) -> None:
    text = page[2]
    assert "all default rules" in text
    assert "gold/jams" in text
    assert "twice" in text
    assert ("✓ passed" in text, "✗ failed" in text) == (True, True)
    assert "conservation" not in text, "a rule that passed is not among the unexpected"


def test_nothing_in_the_page_runs_loads_or_leads_away(page: tuple[Any, Slice, str]) -> None:
    text = page[2]
    assert EVIL not in text
    for sign in ("<script", "http://", "https://", "onclick", "<img", "<iframe"):
        assert sign not in text


def test_the_slices_page_leads_to_its_data_docs_and_others_to_none(page: tuple[Any, Slice, str]) -> None:
    world, part, _ = page
    site = Path(build_report(world.context).path).parent
    assert f'href="../{docs_of(part)}"' in (site / f"slice/{part.folder}.html").read_text()
    assert "Data Docs" not in (site / f"slice/{part_at(0).folder}.html").read_text()
    assert (site / docs_of(part)).is_file(), "building the report keeps what the audit wrote"


def test_data_docs_go_with_the_page_of_their_slice(page: tuple[Any, Slice, str]) -> None:
    world = page[0]
    gone = Path(world.catalog.report, docs_of(part_at(7)))
    gone.write_text("of a slice that is shown no more")
    build_report(world.context)
    assert not gone.exists()
