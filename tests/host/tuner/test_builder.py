"""Triton kernels for a GPU are compiled ahead by processes that use none."""

from pathlib import Path

import pytest

from kernelwright.core.candidate import Brief, Candidate
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.judge import Judge
from kernelwright.judge.sandbox.fork_server import with_ready_builds
from kernelwright.judge.sandbox.isolation import ChildOptions, Plan
from kernelwright.loaders import load
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals
from kernelwright.tuner.process import TunerProcess
from kernelwright.tuner.question import question_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "rms_gate.py"


def test_kernels_are_compiled_without_a_gpu(tmp_path, fork_server):
    pytest.importorskip("triton")
    task, device = load(EXAMPLE), Device.parse("cuda:sm_90")
    opened = OpenedTask(Brief(task, device, ("triton",)))
    found = {p.candidate.digest: p for p in first_proposals(opened)}
    sources = [(p.candidate.source, p.candidate.entry) for p in found.values()][:3]
    assert any("graph" in p.schedule["kernels"] for p in [*found.values()][:3])
    with Judge(task, settings=Settings(), fork_server=fork_server) as judge:
        question = question_of(judge)
    variables = {"TRITON_CACHE_DIR": str(tmp_path)}
    with TunerProcess(variables, threads=1, architecture="sm_90") as process:
        process.give(question)
        assert process.build_ahead([*sources, ("no Python", "ModelNew")]) == len(sources)
        n_kernels = sum(source.count("@triton.jit") for source, _ in sources)
        assert 2 < len([*tmp_path.glob("*/*.cubin")]) <= n_kernels
        process.end_builds()
        assert process.build_ahead(sources) in (0, len(sources))


def test_a_finalist_is_not_compiled_again(tmp_path, fork_server):
    """Its child gets copies of what the tuner has compiled, and compiles nothing."""
    pytest.importorskip("triton")
    task, device = load(EXAMPLE), Device.parse("cuda:sm_90")
    candidate = next(iter(first_proposals(OpenedTask(Brief(task, device, ("triton",)))))).candidate
    other = Candidate(candidate.source + "# other", candidate.dialect, candidate.entry)
    first, again, given = tmp_path / "first", tmp_path / "again", tmp_path / "given"
    with Judge(task, settings=Settings(), fork_server=fork_server) as judge:
        question = question_of(judge)
    with TunerProcess({"TRITON_CACHE_DIR": str(first)}, threads=1, architecture="sm_90") as process:
        process.give(question)
        assert process.build_ahead([(candidate.source, candidate.entry)]) == 1
        ready = process.ready_builds(candidate)
        assert ready and not process.ready_builds(other)
    plan = with_ready_builds(Plan("", 0, 0, options=ChildOptions(ready=tuple(ready))), given)
    variables = {**plan.options.variables, "TRITON_CACHE_DIR": str(again)}
    with TunerProcess(variables, threads=1, architecture="sm_90") as process:
        process.give(question)
        assert process.build_ahead([(candidate.source, candidate.entry)]) == 1
    assert plan.visible == (str(given),)
    assert [*first.glob("*/*.cubin")] and not [*again.glob("*/*.cubin")]
