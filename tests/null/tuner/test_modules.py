"""Candidates share a task's parameters; what a call changes is each one's own."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from kernelwright.core.task import Task
from kernelwright.tuner.modules import Unfit, constructed, nothing_overwritten, without_memory

TASK = Task("example", "folder", "class Model: pass")


class Scaled(nn.Module):
    """A module that counts its calls."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return self.norm(x)


def test_a_call_of_one_candidate_changes_no_buffer_of_another():
    state = Scaled(4).state_dict()
    question = SimpleNamespace(seed=0, initial=[4], state=state, device="cpu", task=TASK)
    one, other = (constructed(Scaled, question) for _ in range(2))
    versions = [buffer._version for buffer in other.buffers()]
    one(torch.randn(8, 4))
    assert one.norm.num_batches_tracked == 1
    assert other.norm.num_batches_tracked == 0
    assert [buffer._version for buffer in other.buffers()] == versions
    assert one.norm.weight.data_ptr() == other.norm.weight.data_ptr()


class Decaying(nn.Module):
    """A module whose constructor reads numbers that it draws."""

    def __init__(self, width):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 1, 3)]
        self.weight = nn.Parameter(torch.full((width,), rates[1]))


def test_a_constructor_that_reads_numbers_runs_on_the_cpu():
    state = {"weight": torch.arange(4.0)}
    question = SimpleNamespace(seed=0, initial=[4], state=state, device="cpu", task=TASK)
    assert torch.equal(constructed(Decaying, question).weight, torch.arange(4.0))
    blank = without_memory(Decaying, question)
    assert blank.weight.is_meta
    assert blank.weight.shape == (4,)


@pytest.mark.parametrize("kind", [Scaled, Decaying])
def test_a_candidate_is_in_the_mode_that_the_task_asks_for(kind):
    state = kind(4).state_dict()
    for task, trains in ((TASK, True), (TASK.in_mode("eval"), False)):
        question = SimpleNamespace(seed=0, initial=[4], state=state, device="cpu", task=task)
        for made in (constructed(kind, question), without_memory(kind, question)):
            assert {part.training for part in made.modules()} == {trains}


@pytest.mark.parametrize("written", ["argument", "weight"])
def test_what_a_candidate_writes_to_is_as_before_for_the_next_one(written):
    tensors = {"argument": torch.randn(4, 6).t(), "weight": torch.full((3,), float("nan"))}
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    question = SimpleNamespace(
        arguments=[{"x": tensors["argument"]}, 2, torch.empty(0)],
        state={"w": tensors["weight"]},
    )
    with nothing_overwritten(question):
        tensors[written].sum()
    with pytest.raises(Unfit, match="writes to its arguments"), nothing_overwritten(question):
        tensors[written][1:].zero_()
    for name, tensor in tensors.items():
        assert torch.equal(tensor.nan_to_num(7.0), before[name].nan_to_num(7.0))
    with pytest.raises(KeyError), nothing_overwritten(question):
        tensors[written].zero_()
        raise KeyError
    assert torch.equal(tensors[written].nan_to_num(7.0), before[written].nan_to_num(7.0))
