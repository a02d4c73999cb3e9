"""Both multiples at once, and a share times the other before the larger is taken."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.Parameter(torch.ones(2))
        self.shares = nn.Parameter(torch.rand(2) + 0.5)

    def forward(self, x, y):
        both = torch.relu(x[..., None] * self.scales).sum(-1)
        return both, torch.stack([self.shares[0] * x, self.shares[0] * y]).amax(0) * self.shares[1]
