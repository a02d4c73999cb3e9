"""A linear layer whose weights are of four bits, eight of them in each whole number."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        codes = torch.randint(-(2**31), 2**31, (n_out, n_in // 8), dtype=torch.int32)
        self.register_buffer("codes", codes)
        self.register_buffer("shifts", torch.arange(0, 32, 4, dtype=torch.int32))
        self.scale = nn.Parameter(0.01 + 0.02 * torch.rand(n_out))

    def forward(self, x):
        whole = (self.codes[..., None] >> self.shifts) & 15
        return x @ (whole.flatten(1) - 8).float().T * self.scale


def get_inputs():
    return [torch.randn(32, 512)]


def get_init_inputs():
    return [512, 256]
