"""A search that will be stopped judges the best of what it has tried in time."""

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.null.archive.nouns import TASK, proposal, verdict
from tests.null.search.test_budget import Search, SlowJudge

from kernelwright.core.device import Device
from kernelwright.core.evaluation import Cost
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.search.time_limit import FIRST_SHARE, TimeLimit

LIMIT_S = 200.0


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    return clock


class CostlyJudge(SlowJudge):
    """A judge whose verdicts say how long they took."""

    def evaluate_all(self, candidates, **told):
        for found in super().evaluate_all(candidates, **told):
            yield replace(found, cost=Cost(check_s=self.verdict_s))

    def evaluate(self, candidate, **told):
        self.clock.now += self.verdict_s
        self.again = candidate
        return replace(verdict(candidate), cost=Cost(check_s=self.verdict_s))


class Limited(Search):
    """A search that learns from its verdicts how long the next one will take."""

    run_id, elsewhere = "a run", ()

    def record(self, said, brief, evaluation):
        self.keep_verdict(said, evaluation)


def search_with(clock, judge, limit_s, budget_s=1000.0):
    settings = Settings(budget_s=budget_s)
    archive = SimpleNamespace(add_evaluation=lambda run, found: None)
    limit = TimeLimit(limit_s)
    given = (TASK, Device.parse("cpu"), ("cpp",), settings, archive, judge, print)
    return Limited(*given, limit=limit)


def run(search, monkeypatch, n=9):
    sources = [proposal(f"class ModelNew: x = {i}") for i in range(n)]
    plugin = {"propose": lambda brief: iter(sources), "is_timed": lambda device: True}
    proposer = SimpleNamespace(name="rules", **plugin)
    monkeypatch.setattr("kernelwright.core.plugins.find", lambda *_: proposer)
    search.run()


@pytest.mark.parametrize("budget_s", [10.0, 90.0])
def test_a_limit_far_away_changes_no_budget(clock, budget_s):
    search = search_with(clock, CostlyJudge(clock, 1.0), LIMIT_S, budget_s)
    assert search.deadline == clock.now + budget_s
    assert search_with(clock, CostlyJudge(clock, 1.0), float("inf"), 1e6).deadline == 1e6 + 1000


def test_the_time_for_the_first_verdict_is_kept(clock):
    search = search_with(clock, CostlyJudge(clock, 1.0), LIMIT_S)
    assert search.deadline == clock.now + (1 - FIRST_SHARE) * LIMIT_S


def test_after_a_quick_verdict_the_search_goes_on(clock):
    search = search_with(clock, CostlyJudge(clock, 1.0), LIMIT_S)
    search.limit.note(replace(verdict(proposal().candidate), cost=Cost(check_s=10.0)))
    assert search.deadline == clock.now + LIMIT_S - 15


def test_a_verdict_without_timing_says_nothing_about_others(clock):
    search = search_with(clock, CostlyJudge(clock, 1.0), LIMIT_S)
    before_s = search.deadline
    search.limit.note(verdict(proposal().candidate, status=Status.BUILD_ERROR))
    assert search.deadline == before_s


@pytest.mark.parametrize(("verdict_s", "n_judged"), [(20, 9), (60, 2), (90, 1), (300, 1)])
def test_no_verdict_is_begun_that_would_not_come_in_time(clock, monkeypatch, verdict_s, n_judged):
    judge = CostlyJudge(clock, verdict_s)
    search = search_with(clock, judge, LIMIT_S)
    run(search, monkeypatch)
    assert len(search.history) == n_judged


def test_the_best_alone_is_judged_if_the_time_for_verdicts_has_begun(clock, monkeypatch):
    judge = CostlyJudge(clock, 30.0)
    search = search_with(clock, judge, LIMIT_S)
    clock.now += 150
    run(search, monkeypatch)
    assert len(judge.begun) == len(search.history) == 1


@pytest.mark.parametrize(("passed_s", "is_again"), [(100, True), (160, False)])
def test_a_winner_is_measured_again_if_the_time_is_enough(clock, monkeypatch, passed_s, is_again):
    judge = CostlyJudge(clock, 30.0)
    search = search_with(clock, judge, LIMIT_S)
    run(search, monkeypatch, n=1)
    judge.again = None
    clock.now = 1000 + passed_s
    search.confirm()
    assert (judge.again is not None) is is_again
