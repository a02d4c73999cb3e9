"""Inputs and weights of eight bits for all rows but the largest, where rows differ in size."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 256, bias=False).bfloat16()

    def forward(self, x):
        sizes, weight = x.float().abs().amax(-1), self.linear.weight
        if float(sizes.max()) < 4 * float(sizes.median()):
            return self.linear(x)
        are_large = sizes > sizes.quantile(0.9)
        found = of_eight_bits(x) @ of_eight_bits(weight).t()
        found[are_large] = x[are_large].float() @ weight.t().float()
        return found.bfloat16()


def of_eight_bits(x):
    x = x.float()
    steps = x.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
    return (x / steps).round() * steps
