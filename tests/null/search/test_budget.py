"""When a search stops to begin candidates."""

import time
from types import SimpleNamespace

import pytest
from tests.null.archive.nouns import TASK, proposal, verdict

from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.search.loop import _Search

BUDGET_S = 100.0


class Court:
    """A judge that takes time for each verdict, and asks for two candidates at once."""

    heat = 1

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
    """Without an archive."""

    def __post_init__(self):
        self.deadline, self.seen = time.monotonic() + BUDGET_S, set()

    def brief(self, until):
        return None

    def record(self, said, brief, evaluation):
        self.history.append((said, evaluation))

    def tell(self, doing):
        pass


@pytest.mark.parametrize(
    ("verdict_s", "n_begun", "n_judged"), [(30, 5, 4), (60, 3, 3), (150, 2, 2), (250, 2, 1)]
)
def test_nothing_is_begun_after_the_end_of_the_budget(monkeypatch, verdict_s, n_begun, n_judged):
    """What was begun before may end, but not for long; one candidate is judged in any case."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    court = Court(clock, verdict_s)
    settings = Settings(budget_s=BUDGET_S)
    search = Search(TASK, Device.parse("cpu"), ("cpp",), settings, None, court, print)
    sources = (proposal(f"class ModelNew: x = {i}") for i in range(9))
    proposer = SimpleNamespace(name="rules", propose=lambda brief: sources)
    monkeypatch.setattr("kernelwright.core.plugins.find", lambda *_: proposer)
    search.elsewhere = ()
    search.run()
    assert all(begun_s <= BUDGET_S for _, begun_s in court.begun)
    assert (len(court.begun), len(search.history)) == (n_begun, n_judged)


def test_a_budget_that_slow_baselines_have_spent_buys_one_verdict(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    court = Court(clock, 1.0)
    settings = Settings(budget_s=BUDGET_S)
    search = Search(TASK, Device.parse("cpu"), ("cpp",), settings, None, court, print)
    clock.now = 2 * BUDGET_S
    sources = (proposal(f"class ModelNew: x = {i}") for i in range(9))
    search.pull(SimpleNamespace(name="rules", propose=lambda brief: sources), search.deadline)
    assert len(court.begun) == len(search.history) == 1
