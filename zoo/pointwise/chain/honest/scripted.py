"""A scripted module inside."""

import torch
from torch import Tensor, nn


class Chain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x) * torch.sigmoid(x) + torch.exp(-x * x)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.trace(Chain(), torch.zeros(4, 4))

    def forward(self, x):
        return self.inner(x)
