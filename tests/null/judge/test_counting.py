"""Arithmetic is counted as torch counts it, and torch's compiler is not imported for it."""

from __future__ import annotations

import subprocess
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode

from kernelwright.judge.sandbox.flop_count import counting_flops

ALONE = """
import sys, torch
from kernelwright.judge.sandbox.flop_count import counting_flops
with torch.no_grad():
    for _ in range(2):
        with counting_flops() as counter:
            torch.nn.Conv2d(3, 4, 3)(torch.ones(1, 3, 8, 8))
        seen = counter.flop_counts["Global"]
        print(counter.get_total_flops(), torch.ops.aten.convolution in seen)
print("torch._dynamo" in sys.modules)
import torch._dynamo
with counting_flops() as counter, torch.no_grad():
    torch.ones(4, 4) @ torch.ones(4, 4)
print(counter.get_total_flops())
"""


def test_the_counter_needs_no_compiler():
    run = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["7776", "True", "7776", "True", "False", "128"]


def test_it_counts_as_torch_does_and_a_cpus_attention_too():
    module = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    x = torch.randn(2, 5, 16)
    with torch.no_grad():
        with FlopCounterMode(display=False) as theirs:
            module(x)
        with counting_flops() as ours:
            module(x)
    attention = 2 * 2 * 2 * 5 * 5 * (8 + 8)  # torch's own has no formula for it on a CPU
    assert ours.get_total_flops() == theirs.get_total_flops() + attention


def test_operators_with_kernels_of_their_own_run_these():
    x, gradient = torch.randn(2, 64, 64).bfloat16().unbind()
    with counting_flops(), torch.no_grad():
        found = torch.ops.aten.silu_backward(gradient, x)
    assert torch.equal(found, torch.ops.aten.silu_backward(gradient, x))
