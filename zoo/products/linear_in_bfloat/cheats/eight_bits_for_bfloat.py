"""Inputs and weights of eight bits, in groups of 32 with a scale each."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False).bfloat16()

    def forward(self, x):
        return (of_eight_bits(x) @ of_eight_bits(self.linear.weight).t()).bfloat16()


def of_eight_bits(x):
    groups = x.float().unflatten(-1, (-1, 32))
    steps = groups.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
    return ((groups / steps).round() * steps).flatten(-2)
