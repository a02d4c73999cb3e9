"""No module is called more often than another while they are timed side by side."""

from tests.host.relu_task import TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.timing.rounds import Stopwatch
from kernelwright.judge.verify.verification import Verification


def test_every_round_calls_every_module_once_whatever_it_is_for(monkeypatch, nursery):
    compare, turn = Stopwatch.compare, Stopwatch.turn
    called, in_rounds = [], []

    def compared(self, *arguments, **how):
        called.clear()
        return compare(self, *arguments, **how)

    def turned(self, runner, *arguments, **how):
        called.append(runner)
        return turn(self, runner, *arguments, **how)

    def recheck_rest(self, draws, turn):
        in_rounds.extend(called)

    with Judge(
        Task("relu", "builtin", TASK), settings=Settings(threads=1), nursery=nursery
    ) as judge:
        monkeypatch.setattr(Stopwatch, "compare", compared)
        monkeypatch.setattr(Stopwatch, "turn", turned)
        monkeypatch.setattr(Verification, "recheck_rest", recheck_rest)
        verdict = judge.evaluate(Candidate(f"{TASK}\nModelNew = Model\n", "torch"))
    assert verdict.passed, verdict.why
    n = len(verdict.timing.samples_ns)
    n_timed = len(verdict.timing.samples_ns["candidate"])
    rounds = [in_rounds[at : at + n] for at in range(0, len(in_rounds), n)]
    assert all(len(set(one)) == n for one in rounds)
    assert len(rounds) > n_timed + 1  # one to warm up, and those for looks and surprises
