"""No module is called more often than another while they are timed side by side."""

from tests.host.relu_task import TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, pipeline
from kernelwright.judge.timing.rounds import _Rounds
from kernelwright.judge.timing.stopwatch import Stopwatch
from kernelwright.judge.verify.verification import Verification


def test_every_module_has_its_turn_in_every_round_whatever_it_is_for(monkeypatch, fork_server):
    compare, turns = pipeline.compare, (Stopwatch.call, Stopwatch.window)
    called, in_rounds, warmed = [], [], _Rounds.warm_up

    def compared(*arguments, **options):
        called.clear()
        return compare(*arguments, **options)

    def noted(turn):
        def take(self, runner, *arguments):
            n_before = len(called)
            made = turn(self, runner, *arguments)
            called[n_before:] = [runner]  # a window of a single call is a call too
            return made

        return take

    def warm_up(rounds):
        warmed(rounds)
        called.clear()

    def recheck_rest(self, draws, turn):
        in_rounds.extend(called)

    with Judge(
        Task("relu", "builtin", TASK), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        monkeypatch.setattr(pipeline, "compare", compared)
        for turn in turns:
            monkeypatch.setattr(Stopwatch, turn.__name__, noted(turn))
        monkeypatch.setattr(_Rounds, "warm_up", warm_up)
        monkeypatch.setattr(Verification, "recheck_rest", recheck_rest)
        verdict = judge.evaluate(Candidate(f"{TASK}\nModelNew = Model\n", "torch"))
    assert verdict.passed, verdict.why
    n = len(verdict.timing.samples_ns)
    n_timed = len(verdict.timing.samples_ns["candidate"])
    rounds = [in_rounds[at : at + n] for at in range(0, len(in_rounds), n)]
    assert all(len(set(one)) == n for one in rounds)
    assert len(rounds) > n_timed  # those for samples and surprises
