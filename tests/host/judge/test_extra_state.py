"""What a module's state_dict holds besides tensors stops nobody."""

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

SCALED = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(512) + 1.0)
        self.scale = 2.0

    def get_extra_state(self):
        return {"scale": self.scale}

    def set_extra_state(self, state):
        self.scale = state["scale"]

    def forward(self, x):
        return x * self.weight * self.scale


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []
"""
WITH_IT = SCALED + "\nModelNew = Model\n"
WITHOUT_IT = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(512))

    def forward(self, x):
        return x * (self.weight * 2.0)
"""


def test_candidates_with_and_without_it_are_given_the_weights(fork_server):
    texts = (WITH_IT, WITHOUT_IT)
    with Judge(
        Task("scaled", "builtin", SCALED), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        found = [judge.evaluate(Candidate(text, "torch"), timed=False).status for text in texts]
    assert found == [Status.PASSED, Status.PASSED]
