"""Candidates share a task's parameters; what a call changes is each one's own."""

from types import SimpleNamespace

import torch
from torch import nn

from kernelwright.tuner.modules import constructed


class Scaled(nn.Module):
    """A module that counts its calls."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.norm(x)


def test_a_call_of_one_candidate_changes_no_buffer_of_another():
    state = Scaled(4).state_dict()
    question = SimpleNamespace(seed=0, initial=[4], state=state, device="cpu")
    one, other = (constructed(Scaled, question) for _ in range(2))
    versions = [buffer._version for buffer in other.buffers()]
    one(torch.randn(8, 4))
    assert one.norm.num_batches_tracked == 1
    assert other.norm.num_batches_tracked == 0
    assert [buffer._version for buffer in other.buffers()] == versions
    assert one.norm.weight.data_ptr() == other.norm.weight.data_ptr()
