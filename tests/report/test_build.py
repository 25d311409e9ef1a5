from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from panelake.context import Context
from panelake.errors import PartDownError
from panelake.report.assets import chart_script_path
from panelake.report.build import DETAILED, REFUSED_KEPT, build_report
from panelake.stages import report as report_stage

LINKING = {"href", "src", "action", "data", "poster", "srcset", "xlink:href"}
OTHERS = 6  # the index, two queries, a stream, the filters and the papers
PLACES = [place for place in range(30) if place not in (12, 20, 21)]


class Page(HTMLParser):
    """What a test asks of a page: its elements, attributes and links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "script":
            self.scripts.append(dict(attrs))
        if tag not in {"meta", "link", "br", "img", "path", "rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"img", "path", "rect"}:
            assert self.open.pop() == tag, f"</{tag}> closes nothing that is open"

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        return [value for _, name, value in self.attributes if name in LINKING]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, new_world: Any) -> Path:
    world = new_world(tmp_path_factory.mktemp("site") / "town & <country>")
    world.record(PLACES, refused=[25])
    world.publish([place for place in PLACES if place != 25])
    world.quarantine(29, '{"area": "<script>alert(9)</script>"}')
    return Path(build_report(world.context, 1_767_272_400_000_000).path).parent


def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


def test_every_slice_query_and_stream_has_a_page(site: Path) -> None:
    names = sorted(str(path.relative_to(site)) for path in site.rglob("*") if path.is_file())
    assert len(names) == len(PLACES) + OTHERS + 1, "and the script of the charts"
    assert {"index.html", "query/speeds.html", "stream/traffic.html"} < set(names)
    assert "slice/20260101T000000Z-20260101T000500Z.html" in names


def test_pages_are_well_formed(site: Path) -> None:
    for path, page in pages(site).items():
        assert page.open == [], path


def test_every_link_leads_to_a_page_of_the_report(site: Path) -> None:
    for path, page in pages(site).items():
        assert page.links
        for link in page.links:
            if link.startswith("data:"):
                continue
            if link.startswith("#"):
                assert ("id", link[1:]) in {(name, value) for _, name, value in page.attributes}, f"{path}: {link}"
                continue
            assert (path.parent / link).resolve().is_relative_to(site), link
            assert (path.parent / link).is_file(), f"{path}: {link}"


def test_pages_run_the_charts_script_alone_and_ask_no_network(site: Path) -> None:
    for path, page in pages(site).items():
        assert not {"iframe", "object", "embed", "form", "base"} & set(page.tags), path
        pictures = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
        assert all(picture.startswith("data:image/png;base64,") for picture in pictures), path
        run = [script for script in page.scripts if script.get("type") != "application/json"]
        charted = path.parent.name not in {"slice", "docs"}
        assert [(path.parent / str(script["src"])).resolve() for script in run] == (
            [site / chart_script_path()] if charted else []
        )
        assert ("script-src 'self' file:;" in path.read_text()) == charted
        assert not [name for _, name, _ in page.attributes if name.startswith("on")], path
        html = path.read_text()
        assert "http://" not in html, path
        assert "https://" not in html, path
        assert "@import" not in html, path
        assert "url(" not in html, path
        assert "default-src 'none'" in html, path


def test_what_data_says_is_shown_as_text(site: Path) -> None:
    shown = pages(site)
    assert "alert(3)</script>, expected 900" in shown[site / "index.html"].text
    refused = shown[site / "slice" / "20260101T020500Z-20260101T021000Z.html"].text
    assert "<script>alert(1)</script>" in refused, "the failing row"
    assert "12 <script>alert(4)</script>" in refused, "what was observed"
    stream = shown[site / "stream" / "traffic.html"].text
    assert "<img src=x onerror=alert(2)>" in stream, "the reason"
    assert '{"area": "<script>alert(9)</script>"}' in stream, "the tuple"
    assert "landing/<b>1</b>.parquet" in stream, "the file"
    assert "<i>why</i>" in stream, "the detail"
    query = shown[site / "query" / "speeds.html"].text
    assert "WHERE area <> '<script>'" in query
    assert "<script>alert(1)</script>" in query
    assert "town & <country>" in query


def test_the_overview_tells_refused_and_missing_slices(site: Path) -> None:
    text = Page((site / "index.html").read_text()).text
    assert "panelake run --from 2026-01-01T01:00:00Z --to 2026-01-01T01:05:00Z" in text
    assert "panelake run --from 2026-01-01T01:40:00Z --to 2026-01-01T01:50:00Z" in text
    assert "✗ refused" in text
    assert "answers reach to, 10 h 30 min before this page was made" in text


def test_the_overview_draws_a_square_a_slice_and_table(site: Path) -> None:
    page = Page((site / "index.html").read_text())
    kinds = json.loads(re.findall(r'{"kinds":.*?}', page.text)[0])["kinds"]
    tables = 4  # the whole slice, bronze, gold, panes
    assert [len(letters) for letters in kinds] == [tables] * (len(PLACES) + 2)
    assert kinds.count("mmmm") == 2
    assert kinds.count("rprp") == 1
    assert kinds.count("wwpp") == 3


def test_all_that_can_be_clicked_or_scrolled_is_on_the_keyboards_way(site: Path) -> None:
    for path, page in pages(site).items():
        regions = [name for tag, name, value in page.attributes if tag == "div" and value == "scroll"]
        focusable = [value for tag, name, value in page.attributes if tag == "div" and name == "tabindex"]
        assert focusable == ["0"] * len(regions), path


def test_the_stream_page_says_that_numbers_are_left_out(site: Path) -> None:
    text = Page((site / "stream" / "traffic.html").read_text()).text
    assert "12,000 to 12,999 were never given" in text


def test_a_workspace_without_slices_has_a_report_that_says_so(world: Any) -> None:
    built = build_report(world.context)
    assert "No slice was run yet" in Path(built.path).read_text()
    assert built.pages == OTHERS


def test_a_slice_without_answers_has_a_report(world: Any) -> None:
    world.record([0], refused=[0])
    built = build_report(world.context)
    assert "Nothing is published yet" in (Path(built.path).parent / "query" / "speeds.html").read_text()


def test_building_again_gives_the_same_pages_but_for_the_time(world: Any) -> None:
    world.record(range(3))
    folder = Path(build_report(world.context, 0).path).parent
    first = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    build_report(world.context, 0)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == first


def test_pages_of_slices_no_longer_shown_go_but_refused_ones_stay(world: Any) -> None:
    world.record(range(3), refused=[1])
    folder = Path(build_report(world.context).path).parent / "slice"
    assert len(list(folder.iterdir())) == 3
    world.record(range(3, 3 + DETAILED))
    build_report(world.context)
    names = {path.name[:16] for path in folder.iterdir()}
    assert len(names) == DETAILED + 1
    assert "20260101T000000Z" not in names
    assert "20260101T000500Z" in names, "refused"


def test_the_stage_enters_how_many_pages_there_are(world: Any) -> None:
    world.record(range(2))
    context = Context(world.workspace)
    part = max(context.ledger.done("publish"))
    (entry,) = report_stage.run(context, part)
    assert (entry.stage, entry.subject, entry.status, entry.rows) == ("report", "report", "done", 2 + OTHERS)


def test_a_file_in_the_reports_place_is_named(world: Any) -> None:
    place = Path(world.catalog.report)
    place.parent.mkdir(parents=True)
    place.write_text("in the way")
    with pytest.raises(PartDownError, match=r"the report cannot be written to .*report"):
        build_report(world.context)


def test_ten_thousand_slices_make_a_report_of_the_same_size(world: Any) -> None:
    world.record(range(10_000), refused=range(0, 10_000, 100))
    world.publish(range(9_900, 10_000))
    built = build_report(world.context)
    folder = Path(built.path).parent
    assert built.pages == DETAILED + REFUSED_KEPT + OTHERS
    assert (folder / "index.html").stat().st_size < 500_000
    assert sum(path.stat().st_size for path in folder.rglob("*.html")) < 4_000_000
