"""The gated RMS norm of a state-space language model: swish gate, norm, learned scale.

Eager PyTorch runs it as eight kernels and writes every intermediate result to memory; one pass
over each row is enough. This is the example of `make optimize`, which is the same as

    kernelwright optimize examples/rms_gate.py

A file in this format (KernelBench's) defines Model, get_inputs and get_init_inputs, and nothing
else is needed. Judge a kernel of your own, a file that defines ModelNew, against it with

    kernelwright judge examples/rms_gate.py my_kernel.py
"""

import torch
import torch.nn.functional as F
from torch import nn

TOKENS, WIDTH = 2048, 2048


class Model(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))
        self.eps = eps

    def forward(self, x, gate):
        h = x * F.silu(gate)
        mean_square = h.pow(2).mean(dim=-1, keepdim=True)
        return h * torch.rsqrt(mean_square + self.eps) * self.weight


def get_inputs():
    return [torch.randn(TOKENS, WIDTH), torch.randn(TOKENS, WIDTH)]


def get_init_inputs():
    return [WIDTH, 1e-5]
