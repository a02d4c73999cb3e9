"""Small briefs, candidates and verdicts."""

from dataclasses import replace

from kernelwright.core.call import Call, Outcome
from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment, Evaluation, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.task import Task

SOURCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()

    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8, 8)]


def get_init_inputs():
    return [8]
"""
TASK = Task(name="relu", origin="kernelbench", source=SOURCE)
CODE = '''\
import ctypes
import torch

TEXT = """
// a kernel
int one;
"""


class ModelNew(torch.nn.Module):
    """A candidate that is never run."""

    def forward(self, x):
        return ctypes.CDLL("x").run(x)
'''
BRIEF = Brief(task=TASK, device=Device.parse("cpu"), dialects=("cpp",), budget_s=60.0, threads=2)


def answer(code: str = CODE) -> str:
    return (
        f"## Performance analysis\nA.\n\n## Algorithm design\nB.\n\n## Code\n```python\n{code}```"
    )


def candidate(text: str = "a", dialect: str = "cpp") -> Candidate:
    return Candidate(CODE.replace("a kernel", text), dialect)


def call(number: int, **said) -> Call:
    plain = Call(
        id=f"{number:04d}",
        model="hf:m",
        purpose="write",
        context=("reference", "verdicts"),
        template="generator-1",
        dialect="cpp",
        parameters={},
        messages=(("user", "?"),),
        answer="",
        outcome=Outcome.ANSWERED,
        took_s=1.0,
    )
    return replace(plain, **said)


def proposal(text: str = "a", **said) -> Proposal:
    return Proposal(candidate(text), "swarm", **said)


def verdict(of: Candidate, speed: float | None = None, reason: str = "", device: str = "cpu"):
    """Return a verdict: passed at ``speed`` times the library's, or failed for ``reason``."""
    timing = None
    if speed is not None:
        samples = {"candidate": (1000,) * 5, "eager": (int(1000 * speed),) * 5}
        timing = Timing(samples, strongest="eager", clock="parent", cache="cold")
    return Evaluation(
        task=TASK.digest,
        workload="w",
        candidate=of.digest,
        status=Status.WRONG_VALUES if reason else Status.PASSED,
        reasons=(Reason(ReasonCode.UNCLASSIFIED, reason),) if reason else (),
        environment=Environment(device, {}),
        seed=0,
        judge_version=1,
        timing=timing,
    )
