"""Eight masks of its own, one for each number of four bits, and the scale first."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.register_buffer("codes", torch.zeros(n_out, n_in // 8, dtype=torch.int32))
        self.register_buffer("shifts", torch.zeros(8, dtype=torch.int32))
        self.scale = nn.Parameter(torch.empty(n_out))

    def forward(self, x):
        parts = [(self.codes >> 4 * place) & 15 for place in range(8)]
        return x @ ((torch.stack(parts, -1).flatten(1) - 8) * self.scale[:, None]).T
