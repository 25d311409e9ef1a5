"""Whatever stands in a workspace's files: it is read, or refused as bad input; no name leads out of the warehouse."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from panelake.catalog import Catalog
from panelake.cli import main
from panelake.commands.forget import _values
from panelake.durations import parse_duration
from panelake.errors import BadInputError
from panelake.orchestration.settings_loader import read_settings
from panelake.slices import Slice, parse_instant
from panelake.sources import kafka_topic
from panelake.sources.files import SourceFile
from panelake.spark.delta import table_name
from panelake.workspace import Workspace, load_workspace

VALID = {
    "warehouse": "warehouse",
    "slice": "5 minutes",
    "streams": {
        "cars": {
            "schema": {"car": "int", "speed": "double", "ts": "timestamp"},
            "event_time": "ts",
            "source": {"format": "parquet", "path": "landing"},
            "lateness": "10 minutes",
            "where": ["speed >= 0", {"sql": "3600 / speed < 100", "commutative": True}],
        }
    },
    "retention": {"bronze": "90 days"},
}
QUERY = "SELECT count(*) AS n FROM cars [RANGE 1 MINUTE SLIDE 1 MINUTE]"
HOSTILE = [
    "../../etc/passwd", "..", ".", "/", "\0", "a/../b", "a\\..\\b", "%2e%2e%2f", "cars; DROP TABLE x", "' OR 1=1 --",
    "`x`", "${HOME}", "{{ 7 * 7 }}", "$(id)", "<script>alert(1)</script>", "\u202e", "a\nb", "\uff43", "NaN", "1e999",
    "9" * 5000, "-0", "!!python/object/apply:os.system [id]", "{start:%n}", "{start.__class__}", "s3://", "file://",
    "sc://x",
]  # fmt: skip
FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

texts = st.text(max_size=20) | st.sampled_from(HOSTILE)
scalars = texts | st.integers() | st.floats() | st.booleans() | st.none() | st.dates() | st.binary(max_size=4)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of the valid document whose value or key can be changed."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any, *, as_key: bool) -> Any:
    """A copy of the document with another value, or another key, in one place."""
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = changed(value[key], tuple(rest), new, as_key=as_key)
    elif as_key and isinstance(copy, dict) and isinstance(new, str):
        copy[new] = copy.pop(key)
    else:
        copy[key] = new
    return copy


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "jams.sql").write_text(QUERY)
    return tmp_path


def read_or_refuse(root: Path) -> Workspace | None:
    with suppress(BadInputError):
        workspace = load_workspace(root)
        assert_inside(workspace)
        return workspace
    return None


def assert_inside(workspace: Workspace) -> None:
    """Every table of the workspace lies below its warehouse, one folder down its kind's."""
    catalog, part = Catalog("/w"), Slice(0, workspace.slice_length)
    for stream in workspace.streams:
        addresses = [catalog.bronze(stream), catalog.quarantine(stream), catalog.held(stream), catalog.replays(stream)]
        addresses += [catalog.panes(stream), catalog.staging(stream, part)]
        assert all(is_plain(address) for address in addresses)
    for query in workspace.all_queries:
        addresses = [catalog.gold(query), catalog.state(query), catalog.staged_join(query, part)]
        assert all(is_plain(address) for address in addresses)


def is_plain(address: str) -> bool:
    parts = PurePosixPath(address).parts
    return ".." not in parts and address.isprintable() and address == str(PurePosixPath(address))


@FEW
@given(text=st.text() | st.binary())
def test_any_text_as_streams_yaml(root: Path, text: str | bytes) -> None:
    (root / "streams.yaml").write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    read_or_refuse(root)


@FEW
@given(path=st.sampled_from(list(places(VALID))), new=values, as_key=st.booleans())
@example(path=("slice",), new="9" * 5000 + " minutes", as_key=False)
@example(path=("streams", "cars", "lateness"), new="1e400 days", as_key=False)
@example(path=("streams", "cars"), new="../../gold", as_key=True)
@example(path=("retention", "bronze"), new=10**30, as_key=False)
def test_any_value_or_key_anywhere_in_streams_yaml(
    root: Path, path: tuple[Any, ...], new: Any, *, as_key: bool
) -> None:
    text = yaml.safe_dump(changed(VALID, path, new, as_key=as_key), allow_unicode=True)
    (root / "streams.yaml").write_text(text, encoding="utf-8")
    read_or_refuse(root)


@FEW
@given(document=values)
def test_any_document_as_expectations_and_as_settings(root: Path, document: Any) -> None:
    (root / "streams.yaml").write_text(yaml.safe_dump(VALID))
    (root / "expectations").mkdir(exist_ok=True)
    for file, shape in (("rules.yaml", {"query": "jams", "expectations": document}), ("more.yaml", document)):
        (root / "expectations" / file).write_text(yaml.safe_dump(shape, allow_unicode=True), encoding="utf-8")
    read_or_refuse(root)
    (root / "settings.yaml").write_text(yaml.safe_dump({"airflow": document}, allow_unicode=True), encoding="utf-8")
    with suppress(BadInputError):
        read_settings(root / "settings.yaml")


@pytest.mark.parametrize("depth", [50, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", "")])
def test_deep_nesting_is_refused(root: Path, opening: str, closing: str, depth: int) -> None:
    (root / "streams.yaml").write_text(opening * depth + "x" + closing * depth)
    with pytest.raises(BadInputError):
        load_workspace(root)


def test_a_small_file_that_aliases_blow_up_is_refused_at_once(root: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (root / "streams.yaml").write_text("\n".join(lines))
    with pytest.raises(BadInputError, match=r"more than \d+ values"):
        load_workspace(root)


def test_a_tag_builds_no_object(root: Path) -> None:
    (root / "streams.yaml").write_text(f"slice: !!python/object/apply:pathlib.Path.touch [{root}/made]")
    with pytest.raises(BadInputError):
        load_workspace(root)
    assert not (root / "made").exists()


@pytest.mark.parametrize("name", ["..", "a b", "a;b", "été", "-x", "_joins", "a'b", "a`b", "a\nb", "_query=x", "9"])
def test_a_query_file_whose_name_is_no_name_is_refused(root: Path, name: str) -> None:
    (root / "streams.yaml").write_text(yaml.safe_dump(VALID))
    (root / "queries" / f"{name}.sql").write_text(QUERY)
    with pytest.raises(BadInputError):
        load_workspace(root)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("command", [["show"], ["replay"], ["forget"], ["restate", "--query"], ["run", "--slice"]])
def test_a_hostile_argument_is_bad_input(
    root: Path, hostile: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "streams.yaml").write_text(yaml.safe_dump(VALID))
    before = sorted(root.rglob("*"))
    more = ["car=1"] if command == ["forget"] else []
    assert exit_code([*command, hostile, *more, "--workspace", str(root)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert sorted(root.rglob("*")) == before


def exit_code(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as ended:
        return int(str(ended.code))


@FEW
@given(text=texts)
def test_any_text_as_a_duration_an_instant_a_key_or_an_offset_range(text: str) -> None:
    for read in (parse_duration, parse_instant, lambda key: _values([key])):
        with suppress(BadInputError):
            read(text)
    with suppress(BadInputError):
        topic, partition, first, last = kafka_topic._parts(SourceFile(text, 0, 0))
        assert text == f"kafka:{topic}/{partition}/{first}-{last}"


@FEW
@given(address=st.text())
def test_no_address_ends_its_quotes(address: str) -> None:
    name = table_name(address)
    assert name.startswith("delta.`")
    assert name.endswith("`")
    assert "`" not in name[len("delta.`") : -1].replace("``", "")


@FEW
@given(text=texts, place=st.sampled_from(["SELECT", "WHERE", "FROM", "name"]))
def test_any_text_in_a_query(root: Path, text: str, place: str) -> None:
    (root / "streams.yaml").write_text(yaml.safe_dump(VALID))
    changed_query = {
        "SELECT": QUERY.replace("count(*)", text),
        "WHERE": f"{QUERY} WHERE {text}",
        "FROM": QUERY.replace("cars", text),
        "name": QUERY.replace(" n ", f" {text} "),
    }[place]
    shutil.rmtree(root / "queries")
    (root / "queries").mkdir()
    (root / "queries" / "jams.sql").write_text(changed_query, encoding="utf-8")
    read_or_refuse(root)
