"""Rounds the weights to eight bits."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        weight = self.linear.weight
        scale = weight.abs().amax(dim=1, keepdim=True) / 127
        return functional.gelu(
            functional.linear(x, (weight / scale).round() * scale, self.linear.bias)
        )
