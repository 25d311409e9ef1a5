from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from panelake import runner
from panelake.catalog import Catalog
from panelake.errors import TransientError
from panelake.ledger import Entry, Ledger
from panelake.locks import Locks
from panelake.slices import Slice

OLDER, NEWER = Slice(0, 60), Slice(60, 120)


@dataclass(frozen=True)
class FakeStage:
    """A stage that notes when it runs; what it gives back is the ledger's business here."""

    name: str
    log: list[tuple[str, Slice]]
    status: str = "done"
    fails: bool = False

    def run(self, _context, part) -> list[Entry]:
        if self.fails:
            raise ValueError("broken")
        self.log.append((self.name, part))
        return [Entry(part, self.name, "traffic", self.status, 3)]


@dataclass
class FakeContext:
    warehouse: str
    log: list[tuple[str, Slice]] = field(default_factory=list)
    times_overtaken: int = 0

    def __post_init__(self) -> None:
        self.ledger = Ledger(Catalog(self.warehouse))
        self.locks = Locks(self.warehouse, wait_seconds=0)

    def stage(self, name: str) -> FakeStage:
        return FakeStage(name, self.log)


@pytest.fixture
def context(tmp_path, monkeypatch) -> FakeContext:
    made = FakeContext(str(tmp_path))
    monkeypatch.setattr(runner, "stage_named", made.stage)
    return made


def run(context, part, *names) -> None:
    for name in names:
        runner.run_stage(context, part, context.stage(name))


def test_a_stage_is_entered_with_its_subjects_and_as_a_whole(context):
    runner.run_stage(context, OLDER, context.stage("panes"))
    assert {key: entry.rows for key, entry in context.ledger.of_slice(OLDER).items()} == {
        ("panes", "traffic"): 3,
        ("panes", ""): 3,
    }


def test_a_stage_that_fails_is_not_entered(context):
    with pytest.raises(ValueError, match="broken"):
        runner.run_stage(context, OLDER, FakeStage("panes", context.log, fails=True))
    assert context.ledger.entries() == []


def test_one_refused_subject_makes_the_stage_refused(context):
    runner.run_stage(context, OLDER, FakeStage("audit", context.log, status="refused"))
    assert context.ledger.of_slice(OLDER)["audit", ""].status == "refused"


def test_an_undisturbed_slice_is_answered_once(context):
    run(context, OLDER, "panes", "windows", "audit", "publish")
    run(context, NEWER, "panes", "windows", "audit", "publish")
    assert [name for name, _ in context.log] == ["panes", "windows", "audit", "publish"] * 2


def test_a_slice_is_answered_anew_where_another_brought_panes_meanwhile(context):
    """Newer reads panes │ older writes panes │ newer publishes: its windows lack the older tuples."""
    run(context, NEWER, "panes", "windows", "audit")
    run(context, OLDER, "panes")
    context.log.clear()
    run(context, NEWER, "publish")
    assert context.log == [("windows", NEWER), ("join", NEWER), ("audit", NEWER), ("publish", NEWER)]


def test_a_slice_is_answered_anew_where_another_was_published_meanwhile(context):
    """Older answers │ newer publishes │ older publishes: windows of the newer one that it changes were not known."""
    run(context, OLDER, "panes")
    run(context, NEWER, "panes", "windows", "audit")
    run(context, OLDER, "windows", "audit")
    run(context, NEWER, "publish")
    context.log.clear()
    run(context, OLDER, "publish")
    assert context.log == [("windows", OLDER), ("join", OLDER), ("audit", OLDER), ("publish", OLDER)]


class Overtaken(FakeStage):
    """Another machine publishes the other slice while this one publishes, as often as told."""

    def run(self, context, part) -> list[Entry]:
        if self.log.count(("publish", part)) < context.times_overtaken:
            context.ledger.record([Entry(NEWER, "publish", "", "done", 1)])
        return super().run(context, part)


@pytest.mark.parametrize("times", [1, 2])
def test_a_slice_is_published_once_more_where_another_was_meanwhile(context, times):
    context.times_overtaken = times
    run(context, OLDER, "panes", "windows", "audit")
    context.log.clear()
    runner.run_stage(context, OLDER, Overtaken("publish", context.log))
    once = [("publish", OLDER)]
    anew = [("windows", OLDER), ("join", OLDER), ("audit", OLDER), ("publish", OLDER)]
    assert context.log == once + times * anew
    assert context.ledger.of_slice(OLDER)["publish", ""].status == "done"


def test_a_slice_that_is_overtaken_again_and_again_is_not_entered_and_may_be_tried_again(context):
    context.times_overtaken = 99
    run(context, OLDER, "panes", "windows", "audit")
    with pytest.raises(TransientError, match="others were published 3 times meanwhile"):
        runner.run_stage(context, OLDER, Overtaken("publish", context.log))
    assert ("publish", "") not in context.ledger.of_slice(OLDER)


@pytest.mark.parametrize(
    ("ingested", "expected"),
    [
        ([], [0, 1, 2, 3, 4]),
        ([2], [1, 0, 2, 3, 4]),
        ([4], [3, 2, 1, 0, 4]),
        ([0, 1], [0, 1, 2, 3, 4]),
    ],
)
def test_history_comes_newest_first_and_the_rest_upwards(ingested, expected):
    parts = [Slice(60 * i, 60 * (i + 1)) for i in range(5)]
    found = runner.ordered(parts, [parts[i] for i in ingested])
    assert [part.start // 60 for part in found] == expected
