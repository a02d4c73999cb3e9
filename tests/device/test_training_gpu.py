"""Kernels for forward and backward on a GPU give the gradients that float64 gives."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import kernelwright as kw
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders.training_step import training_step
from kernelwright.proposers.rules import RulesProposer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
N_ROWS = 512


class Own(nn.Module):
    """A function of inputs and of two vectors of weights, as a module."""

    def __init__(self, function):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(64)), nn.Parameter(torch.rand(64))
        self.function = function

    def forward(self, *given):
        return self.function(self, *given)


class Head(nn.Module):
    """The last layer of a language model, with its loss."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(64, 8192, bias=False)

    def forward(self, x, target):
        return F.cross_entropy(self.head(x), target)


class AttentionBlock(nn.Module):
    """The first half of a transformer's layer."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(64), nn.Linear(64, 192), nn.Linear(64, 64)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 2, 32).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(found.transpose(1, 2).reshape(x.shape))


def rotated(self, x):
    a, b = x.chunk(2, -1)
    return x * self.scale + torch.cat([-b, a], -1) * self.shift


def rows(count=1, width=64):
    return [torch.randn(N_ROWS, width) for _ in range(count)]


def scaled(self, x):
    return torch.softmax(x, -1) * self.scale + self.shift


MODULES = {
    "pointwise": (Own(lambda self, x, y: y + self.scale * F.gelu(x + self.shift)), rows(2)),
    "softmax": (nn.Softmax(-1), rows()),
    "layer_norm": (nn.LayerNorm(64), rows()),
    "rms_norm": (nn.RMSNorm(64), rows()),
    "group_norm": (
        nn.Sequential(nn.GroupNorm(4, 64), nn.SiLU()), [torch.randn(4, 64, 8, 8)]
    ),
    "cross_entropy": (nn.CrossEntropyLoss(), [*rows(), torch.randint(0, 64, (N_ROWS,))]),
    "linear_cross_entropy": (
        Head(), [torch.randn(4096, 64), torch.randint(0, 8192, (4096,))]
    ),
    "swiglu": (Own(lambda self, a, b: F.silu(a * self.scale) * b), rows(2)),
    "geglu": (Own(lambda self, a, b: F.gelu(a * self.scale) * b), rows(2)),
    "rope": (Own(rotated), rows()),
    "scaled_softmax": (Own(scaled), rows()),
    "wide_norm": (nn.LayerNorm(1000), rows(width=1000)),
    "product": (nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 128), nn.GELU()), rows()),
    "attention": (AttentionBlock(), [torch.randn(2, 128, 64)]),
}  # fmt: skip
BAND = {torch.float32: 2e-3, torch.bfloat16: 5e-2}
"""Largest error relative to the largest number of a gradient; products may use TF32."""


def gradients(module, inputs, cotangent):
    given = [v.detach().requires_grad_(v.is_floating_point()) for v in inputs]
    result = module(*given)
    asked = [*(v for v in given if v.requires_grad), *module.parameters()]
    found = torch.autograd.grad(
        result, asked, cotangent(result), allow_unused=True, materialize_grads=True
    )
    return result, [result, *found]


@pytest.mark.parametrize("dialect", ["triton", "cuda"])
@pytest.mark.parametrize("dtype", BAND, ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MODULES)
def test_the_kernels_backward_agrees_with_float64(tmp_path, name, dtype, dialect):
    torch.manual_seed(0)
    module, inputs = MODULES[name]
    module = copy.deepcopy(module).to(dtype)
    inputs = [v.to(dtype) if v.is_floating_point() else v for v in inputs]
    step = training_step(kw.load(module, inputs=inputs))
    brief = Brief(step, Device.parse("cuda"), (dialect,), threads=4)
    file = tmp_path / "kernels.py"
    file.write_text(next(iter(RulesProposer().propose(brief))).candidate.source)
    built = kw.build(file, state_dict=module.state_dict(), on_miss="raise").cuda()
    given = [value.cuda() for value in inputs]
    exact = copy.deepcopy(module).cuda().double()
    wide = [v.double() if v.is_floating_point() else v for v in given]
    drawn = torch.randn_like(exact(*wide))
    result, ours = gradients(built, given, drawn.to)
    _, theirs = gradients(exact, wide, drawn.to)
    assert "Trained" in type(result.grad_fn).__name__
    for one, other in zip(ours, theirs, strict=True):
        error = float((one.double() - other).abs().max() / other.abs().max().clamp_min(1e-3))
        assert error < BAND[dtype]


@pytest.mark.parametrize("dialect", ["triton", "cuda"])
def test_the_same_step_gives_the_same_gradients_bit_for_bit(tmp_path, dialect):
    """Totals over rows are added up in one order; a second call also takes the quick launch."""
    module, inputs = MODULES["wide_norm"]
    step = training_step(kw.load(copy.deepcopy(module), inputs=inputs))
    brief = Brief(step, Device.parse("cuda"), (dialect,), threads=4)
    file = tmp_path / "kernels.py"
    file.write_text(next(iter(RulesProposer().propose(brief))).candidate.source)
    built = kw.build(file, state_dict=module.state_dict(), on_miss="raise").cuda()
    given = [value.cuda() for value in inputs]
    drawn = torch.randn(N_ROWS, 1000, device="cuda")
    _, first = gradients(built, given, lambda _: drawn)
    other = [torch.randn_like(value) for value in given]
    gradients(built, other, lambda _: drawn)
    unaligned = torch.empty(N_ROWS * 1000 + 1, device="cuda")[1:].view(N_ROWS, 1000)
    _, again = gradients(built, given, lambda _: drawn)
    assert all(map(torch.equal, first, again))
    _, there = gradients(built, [unaligned.copy_(given[0])], lambda _: drawn)
    for one, other in zip(first, there, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_cuda_kernels_run_in_a_thread_that_has_not_used_the_device(tmp_path):
    """The first backward of a process runs in a thread of autograd's without a context."""
    module, inputs = MODULES["rms_norm"]
    step = training_step(kw.load(copy.deepcopy(module), inputs=inputs))
    brief = Brief(step, Device.parse("cuda"), ("cuda",), threads=4)
    file = tmp_path / "kernels.py"
    file.write_text(next(iter(RulesProposer().propose(brief))).candidate.source)
    code = (
        "import sys, torch, kernelwright as kw\n"
        "built = kw.build(sys.argv[1], on_miss='raise').cuda()\n"
        "built(torch.randn(512, 64, device='cuda', requires_grad=True)).sum().backward()\n"
        "torch.cuda.synchronize()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
