"""A search begins no candidates after its budget."""

import time
from types import SimpleNamespace

import pytest
from tests.null.archive.nouns import TASK, proposal, verdict

from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.search.loop import _Search

BUDGET_S = 100.0


class SlowJudge:
    """A judge that needs time for each verdict and requests two candidates ahead."""

    batch_size = 1

    def __init__(self, clock, verdict_s):
        self.clock, self.verdict_s, self.begun = clock, verdict_s, []

    def evaluate_all(self, candidates, **told):
        line = []
        while True:
            while len(line) < 2 and (candidate := next(candidates, None)):
                self.begun.append((candidate, self.clock.now))
                line.append(candidate)
            if not line:
                return
            self.clock.now += self.verdict_s
            yield verdict(line.pop(0))


class Search(_Search):
    """A search without an archive."""

    def __post_init__(self):
        self.seen = set()
        self.start_clock()

    def brief(self, until):
        return None

    def record(self, said, brief, evaluation):
        self.history.append((said, evaluation))

    def tell(self, doing):
        pass


@pytest.mark.parametrize(
    ("verdict_s", "n_begun", "n_judged"), [(30, 5, 4), (60, 3, 3), (150, 2, 2), (250, 2, 1)]
)
def test_no_candidate_is_begun_after_the_budget(monkeypatch, verdict_s, n_begun, n_judged):
    """Candidates begun earlier may end, within a limit; one candidate is judged in any case."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    judge = SlowJudge(clock, verdict_s)
    settings = Settings(budget_s=BUDGET_S)
    search = Search(TASK, Device.parse("cpu"), ("cpp",), settings, None, judge, print)
    sources = (proposal(f"class ModelNew: x = {i}") for i in range(9))
    proposer = SimpleNamespace(name="rules", propose=lambda brief: sources)
    monkeypatch.setattr("kernelwright.core.plugins.find", lambda *_: proposer)
    search.elsewhere = ()
    search.run()
    assert all(begun_s <= BUDGET_S for _, begun_s in judge.begun)
    assert (len(judge.begun), len(search.history)) == (n_begun, n_judged)


def test_one_candidate_is_judged_even_if_baselines_used_up_the_budget(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    judge = SlowJudge(clock, 1.0)
    settings = Settings(budget_s=BUDGET_S)
    search = Search(TASK, Device.parse("cpu"), ("cpp",), settings, None, judge, print)
    clock.now = 2 * BUDGET_S
    sources = (proposal(f"class ModelNew: x = {i}") for i in range(9))
    search.pull(SimpleNamespace(name="rules", propose=lambda brief: sources), search.deadline)
    assert len(judge.begun) == len(search.history) == 1
