"""What verdicts lead to: a sound slice passes, a refused one blocks what reads it, a user's own rules count as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from panelake.quality.results import of_slice

from .audit_world import FIRST, NEXT, QUERIES, World, sample_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ALL_DONE = dict.fromkeys(["bronze/s", *(f"gold/{query}" for query in QUERIES)], "done")
REACHING_BACK = dict.fromkeys(["gold/speeds", "gold/hours", "gold/rows"], "refused")


def test_a_sound_slice_passes_every_rule_and_another_audit_changes_nothing(copied: Callable[[], World]) -> None:
    world = copied()
    for part in (FIRST, NEXT):
        assert world.audit(part) == ALL_DONE, world.failures(part)
    rules = of_slice(world.catalog.quality, FIRST)
    world.audit()
    again = of_slice(world.catalog.quality, FIRST)
    assert again.drop_columns(["seconds"]).equals(rules.drop_columns(["seconds"]))
    tables = {row["table"] for row in again.to_pylist()}
    assert tables == {"quarantine/s", "panes/s", *ALL_DONE}


def test_a_slice_blocks_later_windows_that_read_it_and_no_others_until_it_passed(copied: Callable[[], World]) -> None:
    # slice     |--- first ---|--- next ---|
    # speeds               |------|--|              reaches back
    # many                    |------|              does not
    world = copied()
    assert world.audit(NEXT) == ALL_DONE | REACHING_BACK, "not audited yet: nothing unaudited is published"
    DeltaTable(world.catalog.quarantine("s")).delete("_slice = '1970-01-01T00:00:00Z'")
    assert world.audit()["bronze/s"] == "refused"
    assert world.audit(NEXT) == ALL_DONE | REACHING_BACK
    assert "reads_passed_slices: observed 1" in world.why("gold/speeds", NEXT)
    assert "1970-01-01T00:00:00Z" in world.why("gold/speeds", NEXT)
    world.amend(FIRST, "ingest", "s", quarantined=0, read=122)
    assert world.audit()["bronze/s"] == "done"
    assert world.audit(NEXT) == ALL_DONE


def test_the_users_own_expectations_refuse_and_warn_like_the_default_rules(
    copied: Callable[[], World], spark: SparkSession
) -> None:
    root = copied().context.workspace.root
    (root / "expectations").mkdir()
    (root / "expectations" / "stream.yaml").write_text(OF_STREAM)
    (root / "expectations" / "query.yaml").write_text(OF_QUERY)
    own = World(root, spark)
    assert own.audit() == ALL_DONE | {"gold/speeds": "refused"}
    failed = own.failures()
    warned = failed["bronze/s", "expect_column_values_to_be_between(speed)"]
    assert (warned["severity"], warned["observed"]) == ("warning", "3 of 120 unexpected")
    assert sorted(row["_seq"] for row in sample_of(warned)) == [36, 73, 110]
    warnings = own.context.ledger.of_slice(FIRST)["audit", "bronze/s"].details["warnings"]
    assert warnings[0].startswith("bronze/s: expect_column_values_to_be_between(speed): ")
    refusing = failed["gold/speeds", "few cars"]
    assert refusing["severity"] == "blocking"
    assert {"window_end", "area", "cars"} <= sample_of(refusing)[0].keys()


OF_STREAM = """
stream: s
expectations:
  - {type: expect_column_values_to_be_between, kwargs: {column: speed, max_value: 35}, severity: warning}
  - {type: expect_column_values_to_be_unique, kwargs: {column: _seq}}
"""
OF_QUERY = """
query: speeds
expectations:
  - {type: expect_column_values_to_be_between, kwargs: {column: cars, max_value: 5}, name: few cars}
"""
