"""References that write to their weights, and those that only read them."""

import pytest
import torch

from kernelwright.core.task import Task
from kernelwright.judge.perturb.weight_sets import AS_MADE
from kernelwright.judge.reference.observed import writable
from kernelwright.judge.reference.oracle import Oracle

TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 8))
        self.register_buffer("codes", torch.randn(8, 8))

    def forward(self, x):
        {}
        return x @ self.weight @ self.codes

def get_inputs():
    return [torch.randn(4, 16)]

def get_init_inputs():
    return []
"""
WRITING = {
    "a norm": "self.weight.data = torch.renorm(self.weight.data, 2, 0, 1.0)",
    "a range": "self.weight.data.clamp_(-0.5, 0.5)",
    "a wide range": "self.weight.data.clamp_(-6.0, 6.0)",
    "no gradient": "self.weight.clamp_(min=0.25)",
    "a buffer's range": "self.codes.clamp_(-0.5, 0.5)",
}


@pytest.mark.parametrize("text", WRITING.values(), ids=WRITING)
def test_what_a_reference_does_to_its_weights_is_done_to_a_copy(text):
    oracle = Oracle(Task("t", "builtin", TASK.format(text)), "cpu", 0)
    assert oracle.profile.work.writes_weights
    own = oracle.forward.reference.build(oracle.forward.weight_seed).state_dict()
    assert all(torch.equal(oracle.state(AS_MADE)[name], own[name]) for name in own)
    for weights in oracle.forward.modules:
        before = {name: t.clone() for name, t in oracle.state(weights).items()}
        found = oracle.forward.run(oracle.first_arguments, weights)
        assert all(torch.equal(oracle.state(weights)[name], before[name]) for name in own)
        assert all(map(torch.equal, found, oracle.forward.run(oracle.first_arguments, weights)))


def test_statistics_of_a_batch_norm_are_no_constraint():
    norm = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3))
    norm.register_buffer("codes", torch.zeros(2))
    assert [t.numel() for t in writable(norm)] == [3, 3, 9, 3, 2]


def test_who_only_reads_or_fills_a_tensor_of_his_own_constrains_nothing():
    text = "x = torch.zeros_like(x).copy_(x) + self.weight.clamp(-1, 1).sum()"
    assert not Oracle(Task("t", "builtin", TASK.format(text)), "cpu", 0).profile.work.writes_weights
