from __future__ import annotations

import pytest

from panelake.errors import WorkspaceError
from panelake.slices import Slice, parse_instant
from panelake.streams import Source, filled_template
from panelake.workspace import load_workspace

PART = Slice(parse_instant("2026-01-02T03:05:00Z"), parse_instant("2026-01-02T03:10:00Z"))


def problems(folder, *, source="{format: parquet, path: landing}", more=""):
    lines = ["slice: 5 minutes", "streams:", "  cars:", "    schema: {car: int, speed: double, ts: timestamp}"]
    (folder / "streams.yaml").write_text(
        "\n".join(
            [*lines, "    event_time: ts", f"    source: {source}", *(f"    {line}" for line in more.splitlines())]
        )
    )
    with pytest.raises(WorkspaceError) as caught:
        load_workspace(folder)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_a_path_with_a_template_names_a_folder_for_each_slice():
    assert filled_template("in/{start:%Y-%m-%d/%H%M}/{end:%H%M}", PART) == "in/2026-01-02/0305/0310"
    assert Source(format="json", path="in/{start:%Y}").rule == "path"
    assert Source(format="json", path="in").rule == "event_time"
    assert Source(format="kafka", servers="localhost:1", topic="cars").rule == "file"


@pytest.mark.parametrize(
    "path",
    ["../elsewhere", "in/../../x", "in/{start:%Y/../../x}", "in/{start}", "in/{begin:%Y}", "in/{start:%Z %q}", "in/{x"],
)
def test_a_path_that_climbs_or_a_template_that_is_none_is_refused(tmp_path, path):
    [(line, message)] = problems(tmp_path, source=f"{{format: json, path: '{path}'}}")
    assert line == 6
    assert path in message


def test_keys_of_another_format_and_missing_ones_are_refused_by_name(tmp_path):
    [(_, message)] = problems(tmp_path, source="{format: parquet, path: x, delimiter: ';'}")
    assert "'delimiter' is no key of a parquet source; expected arrival, drift, path" in message
    [(_, message)] = problems(tmp_path, source="{format: kafka, topic: cars}")
    assert "a kafka source needs the key 'servers'" in message


def test_a_generator_names_a_world_there_is_and_a_rate_there_can_be(tmp_path):
    [(_, message)] = problems(tmp_path, source="{format: generator, world: moon}")
    assert "unknown world 'moon'; expected one of news, packets, traffic" in message
    [(_, message)] = problems(tmp_path, source="{format: generator, world: traffic, rate: .inf}")
    assert "finite number" in message


def test_unique_must_name_columns(tmp_path):
    [(_, message)] = problems(tmp_path, more="unique: [car, colour]")
    assert "unique names 'colour'; expected columns of the schema: car, speed, ts" in message


def test_filters_are_checked_as_queries_are_each_at_its_line(tmp_path):
    filters = ["speed >= 0", "sped >= 0", "rand() > 0.5", "speed >= 0; drop table x", "java_method('a', 'b')"]
    found = problems(tmp_path, more="where:\n" + "\n".join(f"  - {text}" for text in filters))
    lines, messages = zip(*found, strict=True)
    assert lines == (9, 10, 11, 12)
    assert "did you mean 'speed'?" in messages[0]
    assert "not deterministic" in messages[1]
    assert "expected one condition over the stream's columns" in messages[2]
    assert "reaches outside" in messages[3]


def test_an_aggregate_a_subquery_and_a_window_have_no_place_in_a_filter(tmp_path):
    found = problems(
        tmp_path, more="where: ['sum(speed) > 1', 'car IN (SELECT 1)', 'speed > 0 [RANGE 1 SLIDE 1]', '', '{{ 2BD']"
    )
    assert len(found) == 5
