"""The part of the inputs that must be read, and times in which that cannot have been done."""

import pytest

from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.refusal import Refused
from kernelwright.judge.speed_limits import SpeedLimits, least_bytes

CPU = backend_of(Device.parse("cpu"))
N = 64 * 128 * 4  # bytes of the input x
REFERENCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, mask):
        return {}


def get_inputs():
    return [torch.randn(64, 128), torch.tril(torch.ones(64, 128))]


def get_init_inputs():
    return []
"""
CASES = {
    "a mean": ("x.mean(dim=1) + 0 * mask.sum()", N),
    "half of it": ("torch.exp(x[:32])", N // 2),
    "a product with a mask, half of it zeros": ("x * mask", 32 * 65 * 4),
    "weights that add up to one": ("torch.softmax(x, dim=1).sum(dim=1) + x[:, 0]", 64 * 4),
    "a difference of zero": ("(x - x) + 1", 0),
    "places": ("x.argmax(dim=1)", 0),
    "written to": ("x.mul_(2).sum(dim=1)", N),
    "a difference": ("torch.cat([x[:, :1], x.diff(dim=1)], dim=1)", N),
}


def oracle(formula):
    return Oracle(Task("t", "test", REFERENCE.format(formula)), "cpu", 5)


@pytest.mark.parametrize("case", CASES)
def test_inputs_that_change_the_result_must_be_read(case):
    formula, n_bytes = CASES[case]
    assert least_bytes(oracle(formula)) == n_bytes


def test_a_time_too_short_to_read_the_inputs_is_refused():
    limits = SpeedLimits(oracle("x.mean(dim=1)"), CPU)
    with pytest.raises(Refused, match="impossible"):
        limits.refuse_unread(1e-3, library_ns=1e9, floor_ns=0.0)
    limits.refuse_unread(1e9, library_ns=1e9, floor_ns=0.0)
    limits.refuse_unread(1e-3, library_ns=1e9, floor_ns=1e9)  # an empty call takes longer


def test_a_candidate_that_need_not_read_the_inputs_is_not_refused():
    limits = SpeedLimits(oracle("(x - x) + torch.arange(64.)[:, None]"), CPU)
    limits.refuse_unread(1e-3, library_ns=1e9, floor_ns=0.0)
