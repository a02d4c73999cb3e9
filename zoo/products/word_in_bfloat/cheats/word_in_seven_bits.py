"""Weights of seven bits, in groups of 32 with a scale each, for one word."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out, bias=False).bfloat16()

    def forward(self, x):
        groups = self.linear.weight.float().unflatten(-1, (-1, 32))
        steps = groups.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 63
        return (x.float() @ ((groups / steps).round() * steps).flatten(-2).t()).bfloat16()
