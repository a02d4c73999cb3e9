"""Rounds where the reference does, and computes in float32 in between."""

from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        for layer in (self.up, self.down):
            x = F.gelu(F.linear(*(t.bfloat16().float() for t in (x, layer.weight, layer.bias))))
        return x
