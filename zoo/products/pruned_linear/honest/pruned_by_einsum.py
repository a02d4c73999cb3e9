"""Masks the weights under other names, and adds up in one expression."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(n_out, n_in))
        self.register_buffer("pruned", torch.zeros(n_out, n_in))

    def forward(self, x):
        return torch.einsum("bi,oi->bo", x, self.kernel.mul(self.pruned))
