"""The built-in proposers keep the contract that plugins must keep."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.host.swarm.candidates import FASTER, RIGHT, TASK
from tests.null.swarm.conftest import at_once, scripted  # noqa: F401  the same server
from tests.null.swarm.scripted import ScriptedServer, say

from kernelwright.core.candidate import Brief, Candidate, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.proposers.inductor import InductorProposer
from kernelwright.proposers.policy import PolicyProposer
from kernelwright.proposers.port import PortProposer
from kernelwright.proposers.rules import RulesProposer
from kernelwright.proposers.swarm import SwarmProposer
from kernelwright.testing.proposers import ProposerContract

CPU = Device.parse("cpu")
KERNEL = '''
import torch
SOURCE = r"""
extern "C" __global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fmaxf(x[i], 0);
}
"""
class ModelNew(torch.nn.Module):
    def forward(self, x):
        torch.cuda._compile_kernel(SOURCE, "scale")((1, 1, 1), (64, 1, 1), [x, 64])
        return x
'''


def task() -> Task:
    return Task("contract", "kernelbench", TASK)


class TestRules(ProposerContract):
    proposer = RulesProposer()

    def brief(self) -> Brief:
        return Brief(task(), CPU, ("torch", "cpp"), budget_s=10.0)


@pytest.mark.slow
class TestInductor(ProposerContract):
    proposer = InductorProposer()

    def brief(self) -> Brief:
        return Brief(task(), CPU, ("cpp",), budget_s=120.0)


class TestPort(ProposerContract):
    proposer = PortProposer()

    def brief(self) -> Brief:
        """One that shows a CUDA candidate of another machine."""
        proposal = Proposal(Candidate(KERNEL, "cuda"), "rules")
        verdict = Evaluation(
            task=task().digest,
            workload="w",
            candidate=proposal.candidate.digest,
            status=Status.PASSED,
            reasons=(),
            environment=Environment("cuda:sm_90", {}),
            seed=0,
            judge_version=1,
        )
        shown = (Exemplar(proposal, verdict, "other"),)
        return Brief(task(), Device.parse("hip:gfx942"), ("hip",), exemplars=shown)


class TestSwarm(ProposerContract):
    proposer = SwarmProposer()

    @pytest.fixture(autouse=True)
    def server(self, scripted: ScriptedServer, at_once: Callable[[int], None]) -> None:  # noqa: F811
        scripted.script = [say(RIGHT), say(FASTER)]
        self.model = scripted.model

    def brief(self) -> Brief:
        return Brief(task(), CPU, ("cpp",), models=(self.model,))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("transformers")
    from tests.host.train import tiny

    return tiny.save(tmp_path_factory.mktemp("tiny"))


@pytest.mark.slow
class TestPolicy(ProposerContract):
    proposer = PolicyProposer()

    @pytest.fixture(autouse=True)
    def model(self, checkpoint: str) -> None:
        self.folder = checkpoint

    def brief(self) -> Brief:
        return Brief(task(), CPU, ("cpp",), models=(self.folder,))
