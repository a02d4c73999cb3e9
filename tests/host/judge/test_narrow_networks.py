"""Networks with batch norms in bfloat16, of which single results lie near zero and have no digits
while all others have: a right candidate passes, and a wrong one is refused."""

from __future__ import annotations

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

NETWORK = '''
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in "12")
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = torch.relu(self.norm1(self.first(x)))
        return torch.relu(x + self.norm2(self.second(y)))


class {name}(nn.Module):
    """Residual blocks."""

    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.to(torch.bfloat16).eval()

    def forward(self, x):
        {forward}


def get_inputs():
    return [torch.randn(2, 32, 6, 6).bfloat16()]


def get_init_inputs():
    return [32, {depth}]
'''
OWN = "return self.blocks(x)"
RIGHT = """x = x.float()
        for block in self.blocks:
            y = x
            for conv, norm in ((block.first, block.norm1), (block.second, block.norm2)):
                scale = norm.weight.float() * (norm.running_var.float() + norm.eps).rsqrt()
                shift = norm.bias.float() - norm.running_mean.float() * scale
                y = nn.functional.conv2d(y, conv.weight.float(), padding=1)
                y = y * scale[:, None, None] + shift[:, None, None]
                y = torch.relu(y) if norm is block.norm1 else torch.relu(x + y)
            x = y
        return x.bfloat16()"""
WRONG = {
    "zeros": "return torch.zeros_like(x)",
    "a block left out": "return self.blocks[:-1](x)",
    "no shortcut": RIGHT.replace("torch.relu(x + y)", "torch.relu(y)"),
    "no relu": RIGHT.replace("torch.relu(x + y)", "x + y"),
    "the mean of the batch": "return self.blocks(x.mean(0, keepdim=True).expand_as(x))",
}


@pytest.fixture(scope="module", params=[8, 30], ids=["shallow", "deep"])
def judge(request, fork_server):
    source = NETWORK.format(name="Model", forward=OWN, depth=request.param)
    task = Task(f"blocks_{request.param}", "builtin", source)
    with Judge(task, settings=Settings(threads=1), fork_server=fork_server) as one:
        yield one


def verdict(judge, forward):
    source = NETWORK.format(name="ModelNew", forward=forward, depth=4)
    return judge.evaluate(Candidate(source, "torch"), timed=False)


def test_the_network_in_float32_is_right(judge) -> None:
    found = verdict(judge, RIGHT)
    assert found.passed, found.why


@pytest.mark.parametrize("fault", WRONG)
def test_nonsense_is_wrong(judge, fault) -> None:
    found = verdict(judge, WRONG[fault])
    assert found.status is Status.WRONG_VALUES, found.numerics
