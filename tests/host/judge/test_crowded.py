"""A task beside which memory is scarce: baselines start one by one, and those that lose end."""

from tests.host.judge.test_itself import SOURCE

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines import library_settings, runs
from kernelwright.judge.timing.stopwatch import Stopwatch


def test_all_settings_are_measured_and_only_those_that_verdicts_need_are_kept(
    monkeypatch, fork_server
):
    monkeypatch.setattr(runs, "CROWDED", 1 << 40)
    with Judge(
        Task("crowded", "builtin", SOURCE), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        verdict = judge.evaluate(Candidate(f"{SOURCE}\nModelNew = Model\n", "torch"))
        assert verdict.passed, verdict.why
        assert set(judge.baseline_ns) == {s.name for s in library_settings.SETTINGS["cpu"]}
        needed = {*library_settings.ALWAYS, judge.strongest}
        assert set(verdict.timing.samples_ns) - {"candidate"} == needed


def test_one_that_has_ended_is_never_the_strongest(monkeypatch, fork_server):
    waves = iter([
        {"eager": 100.0},
        {"eager": 100.0, "compile": 90.0},
        {"eager": 100.0, "compile": 90.0, "eager_hugepages": 95.0},  # loses, and ends
        {"eager": 100.0, "compile": 99.0, "compile_hugepages": 120.0},
    ])  # fmt: skip
    monkeypatch.setattr(runs, "CROWDED", 1 << 40)
    monkeypatch.setattr(Stopwatch, "rank", lambda *_: next(waves))
    with Judge(
        Task("crowded", "builtin", SOURCE), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        assert judge.strongest == "compile"
        verdict = judge.evaluate(Candidate(f"{SOURCE}\nModelNew = Model\n", "torch"))
    assert verdict.passed, verdict.why
    assert set(verdict.timing.samples_ns) == {"candidate", "eager", "compile"}
