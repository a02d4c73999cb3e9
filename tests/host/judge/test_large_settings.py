"""A library setting is made without drawing large weights, and has the reference's all the same."""

import pytest
import torch

from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3000, 3000)
        self.hidden = {hidden}

    def forward(self, x):
        return self.linear(x) if self.hidden is None else self.linear(x) + self.hidden


def get_inputs():
    return [torch.randn(4, 3000)]


def get_init_inputs():
    return []
"""


@pytest.mark.usefixtures("few_settings")
@pytest.mark.parametrize("hidden", ["None", "torch.randn(3000)"])
def test_a_setting_computes_what_the_reference_does(fork_server, hidden):
    task = Task("large", "builtin", SOURCE.format(hidden=hidden))
    with Judge(task, settings=Settings(threads=1), fork_server=fork_server) as judge:
        judge.start_baselines()
        judge._baselines.wait()
        eager, arguments = judge._baselines.kept()["eager"], judge.oracle.first_arguments
        with judge.device_lock.shared(eager):
            eager.put(arguments)
            outputs = eager.call(limit_s=60, take=True).outputs
        torch.testing.assert_close(outputs, judge.oracle.forward.run(arguments))
