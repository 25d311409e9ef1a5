"""How trials are counted; this is no trial itself, and runs with all tests."""

from __future__ import annotations

import pytest

from .tally import CLIENT_KILLS, SEED_VARIABLE, TRIALS_VARIABLE, Tally, Trial, trials


def test_a_fault_that_came_too_late_is_a_trial_and_no_fault():
    tally = Tally(seed=7)
    for hit in (True, False, True):
        with tally.trial("client killed") as trial:
            trial.hit = hit
    assert tally.told()[-1] == "faults: 3 trials, 2 faults hit, 0 losses"
    assert tally.told()[0] == "  client killed: 3 trials, 2 hit"
    assert tally.told()[-2].startswith(f"{SEED_VARIABLE}=7 ")


def test_a_trial_that_fails_is_a_loss_that_says_why():
    tally = Tally(seed=7)
    with pytest.raises(AssertionError, match="lost"), tally.trial("disk full") as trial:
        lose(trial)
    with pytest.raises(ValueError, match="odd"), tally.trial("disk full"):
        raise ValueError("odd")
    assert tally.told()[-1] == "faults: 2 trials, 1 faults hit, 2 losses"
    assert "  LOSS in disk full 0: gold/q: 1 lost" in tally.told()
    assert "  LOSS in disk full 1: the trial broke off" in tally.told()


def lose(trial: Trial) -> None:
    trial.hit, trial.loss = True, "gold/q: 1 lost"
    raise AssertionError(trial.loss)


def drawn(seed: int, *kinds: str) -> list[float]:
    tally, numbers = Tally(seed=seed), []
    for kind in kinds:
        with tally.trial(kind) as trial:
            numbers.append(trial.chance.random())
    return numbers


def test_a_seed_draws_the_same_whatever_other_kinds_there_are():
    first, again = drawn(1, "a", "b", "a"), drawn(1, "a", "a", "b")
    assert [first[0], first[2], first[1]] == again
    assert len({*first, *drawn(2, "a", "b", "a")}) == 6


def test_the_seed_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv(SEED_VARIABLE, "42")
    assert Tally().seed == 42


@pytest.mark.parametrize(("asked", "expected"), [(CLIENT_KILLS, 2), (10 * CLIENT_KILLS, 20), (1, 1)])
def test_other_kinds_are_tried_in_proportion(monkeypatch, asked, expected):
    monkeypatch.setenv(TRIALS_VARIABLE, str(asked))
    assert trials(2) == expected
