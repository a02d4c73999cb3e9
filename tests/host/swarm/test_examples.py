"""The judge passes the worked examples of the prompts."""

import pytest

from kernelwright.core.candidate import Brief, Candidate
from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.judge import Judge
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.answer import read
from kernelwright.proposers.swarm.question import Question


def example(dialect):
    """Return (reference, candidate) of a dialect's example, as a prompt shows them."""
    task = Task("any", "kernelbench", "class Model: pass")
    brief = Brief(task, Device.parse("cpu"), (dialect,))
    _, asked, answered, _ = prompt.generator(brief, Question("write", dialect), ())
    source = asked[1].split("The reference:")[1].split("```python\n")[1].split("```")[0]
    return Task("example", "kernelbench", source), Candidate(
        read(answered[1], dialect).code, dialect
    )


@pytest.mark.parametrize("dialect", ["cpp", "triton"])
def test_the_judge_passes_the_example(dialect, fork_server):
    if dialect == "triton":
        pytest.importorskip("triton")
    task, candidate = example(dialect)
    with Judge(task, fork_server=fork_server) as judge:
        verdict = judge.evaluate(candidate, timed=False)
    assert verdict.status is Status.PASSED, verdict.why


def test_the_judge_passes_the_metal_example(fork_server):
    if missing := msl_missing():
        pytest.skip(missing)
    task, candidate = example("metal")
    with Judge(task, device=resolve(Device.parse("metal")), fork_server=fork_server) as judge:
        verdict = judge.evaluate(candidate)
    assert verdict.status is Status.PASSED, verdict.why
    assert verdict.kinds == ("kernel",)


def test_the_cuda_example_is_in_cuda():
    _, candidate = example("cuda")
    assert candidate.source.startswith("import torch")
