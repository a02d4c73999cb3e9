"""Triton kernels for a GPU are compiled ahead by processes that use none."""

import time
from pathlib import Path

import pytest
import torch
from torch import nn

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.judge import Judge
from kernelwright.judge.sandbox.fork_server import with_ready_builds
from kernelwright.judge.sandbox.isolation import ChildOptions, Plan
from kernelwright.loaders import load
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals
from kernelwright.tuner.process import TunerProcess, process_for
from kernelwright.tuner.question import question_of
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.trials import TrialRunner

EXAMPLE = Path(__file__).parents[3] / "examples" / "rms_gate.py"


@pytest.fixture(scope="module")
def question(fork_server):
    """The question of the example, which no test changes."""
    with Judge(load(EXAMPLE), settings=Settings(), fork_server=fork_server) as judge:
        return question_of(judge)


def test_kernels_are_compiled_without_a_gpu(tmp_path, fork_server):
    pytest.importorskip("triton")
    layers = nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 32)
    task = load(nn.Sequential(*layers).eval(), inputs=[torch.randn(48, 64)])
    device = Device.parse("cuda:sm_90")
    opened = OpenedTask(Brief(task, device, ("triton",)))
    found = {p.candidate.digest: p for p in first_proposals(opened)}
    proposals = [*found.values()][:3]
    bad = Proposal(Candidate("no Python", "triton"), "rules")
    assert any("graph" in p.schedule["kernels"] for p in proposals)
    with Judge(task, settings=Settings(), fork_server=fork_server) as judge:
        question = question_of(judge)
    variables = {"TRITON_CACHE_DIR": str(tmp_path)}
    with TunerProcess(variables, threads=1, architecture="sm_90") as process:
        process.give(question)
        told = []
        queue = BuildQueue(process, told.append)
        queue.add([*proposals, bad])
        taken = queue.take(4, 4, time.monotonic() + 240)
        assert (queue.n_compiled, queue.n_failed, told) == (3, 1, [])  # the worker tells why
        assert len(taken) == 4 and not queue.take(4, 4, time.monotonic())
        n_kernels = sum(p.candidate.source.count("@triton.jit") for p in proposals)
        assert 2 < len([*tmp_path.glob("*/*.cubin")]) <= n_kernels
        queue.add(proposals)
        queue.close()
        assert queue.take(3, 3, time.monotonic() + 60) == proposals  # the worker compiles them


KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x):
    tl.store(x, FAULT)

class ModelNew(torch.nn.Module):
    def __init__(self, *given): super().__init__()
    def forward(self, *given): kernel[1,](torch.empty(1, device="meta"))
"""
MISSING, CRASH = "import missing_module", "import os; os.kill(os.getpid(), 11)"


FAULTS = [
    (MISSING, "ModuleNotFoundError: No module named 'missing_module'"),
    (CRASH, "its process ended by signal 11"),
    (KERNEL.replace("kernel[1,]", "kernel.missing"), "no attribute 'missing' (candidate_ahead"),
    (KERNEL.replace("FAULT", "1.0").replace('a"))', 'a"), unknown=1)'), "KeyError: "),
    (KERNEL.replace("FAULT", "missing"), ""),  # a compile error of its own
]


def test_a_fault_of_compiling_ahead_is_told(tmp_path, question):
    pytest.importorskip("triton")
    variables = {"TRITON_CACHE_DIR": str(tmp_path)}
    with TunerProcess(variables, threads=1, architecture="sm_90") as process:
        process.give(question)
        for source, seen in FAULTS:
            told = []
            queue = BuildQueue(process, told.append)
            candidates = [Candidate(source + "\n" * n, "triton") for n in range(2)]
            queue.add([Proposal(candidate, "rules") for candidate in candidates])
            assert len(queue.take(2, 2, time.monotonic() + 240)) == 2
            assert (queue.n_compiled, queue.n_failed, len(told)) == (0, 2, bool(seen))
            assert seen in "".join(told)


def test_a_crash_of_the_process_that_compiles_ahead_is_told(question):
    pytest.importorskip("triton")
    told = []
    with TunerProcess({}, threads=1, architecture="sm_none") as process:
        process.give(question)
        queue = BuildQueue(process, told.append)
        queue.add([Proposal(Candidate("", "triton"), "rules")])
        assert len(queue.take(1, 1, time.monotonic() + 240)) == 1
    assert queue.n_failed == 1 and "ValueError: invalid literal for int()" in told[0]


def built(process, proposal):
    queue = BuildQueue(process)
    queue.add([proposal])
    assert queue.take(1, 1, time.monotonic() + 240) == [proposal]


def test_a_finalist_is_not_compiled_again(tmp_path, question):
    """Its child gets copies of what the tuner has compiled, and compiles nothing."""
    pytest.importorskip("triton")
    task, device = load(EXAMPLE), Device.parse("cuda:sm_90")
    proposal = next(iter(first_proposals(OpenedTask(Brief(task, device, ("triton",))))))
    candidate = proposal.candidate
    other = Candidate(candidate.source + "# other", candidate.dialect, candidate.entry)
    first, again, given = tmp_path / "first", tmp_path / "again", tmp_path / "given"
    with TunerProcess({"TRITON_CACHE_DIR": str(first)}, threads=1, architecture="sm_90") as process:
        process.give(question)
        built(process, proposal)
        ready = process.ready_builds(candidate)
        assert ready and not process.ready_builds(other)
    plan = with_ready_builds(Plan("", 0, 0, options=ChildOptions(ready=tuple(ready))), given)
    variables = {**plan.options.variables, "TRITON_CACHE_DIR": str(again)}
    with TunerProcess(variables, threads=1, architecture="sm_90") as process:
        process.give(question)
        built(process, proposal)
    assert plan.visible == (str(given),)
    assert [*first.glob("*/*.cubin")] and not [*again.glob("*/*.cubin")]


def test_a_finalist_in_cpp_is_not_compiled_again(fork_server):
    """Its child gets a copy of the tuner's library, as long as only our own code runs there."""
    task = load(EXAMPLE)
    proposal = next(iter(first_proposals(OpenedTask(Brief(task, Device.parse("cpu"), ("cpp",))))))
    candidate = proposal.candidate
    with (
        Judge(task, settings=Settings(threads=1), fork_server=fork_server) as judge,
        process_for(judge, ("cpp",)) as process,
    ):
        process.give(question_of(judge))
        assert not process.ready_builds(candidate)
        TrialRunner(process, judge.device_lock).measure([proposal])
        [library] = process.ready_builds(candidate)
        judge.take_builds(process.ready_builds)
        found = judge.evaluate(candidate, timed=False)
        assert found.passed, found.why
        library.unlink()
        library.write_bytes(b"no library")
        assert judge.evaluate(candidate, timed=False).status is Status.BUILD_ERROR
        process.is_ours_only = False
        assert judge.evaluate(candidate, timed=False).passed
