"""How much memory judging takes is told from a task's text, whatever its forward does."""

import pytest

from kernelwright.core.task import Task
from kernelwright.judge.room import CONTEXTS_BYTES, COPIES, LIBRARY_COPIES, needed_bytes

TASK = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1000))

    def forward(self, x):
        {forward}

def get_inputs():
    return [torch.rand(20, 1000)]

def get_init_inputs():
    return []
"""
GIVEN_BYTES, RESULT_BYTES = 4 * 21_000, 4 * 20_000


def needed(forward: str, **how: bool) -> int:
    return needed_bytes(Task("a task", "test", TASK.format(forward=forward)), **how)


def test_inputs_weights_and_results_count_several_times():
    whole = GIVEN_BYTES + RESULT_BYTES
    assert needed("return x * self.weight") == CONTEXTS_BYTES + COPIES * whole
    told = needed("return x * self.weight", for_library=True)
    assert told == CONTEXTS_BYTES + LIBRARY_COPIES * whole


@pytest.mark.parametrize("forward", ["assert x.sum() > 0; return x", "return x.nothing", "exit()"])
def test_a_forward_that_needs_its_data_stops_nobody(forward):
    assert needed(forward) == CONTEXTS_BYTES + COPIES * GIVEN_BYTES


def test_what_a_forward_prints_is_not_said_to_whoever_reads_our_answer(capsys):
    needed("print('here'); return x")
    assert not capsys.readouterr().out
