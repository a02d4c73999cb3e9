"""The product in two halves, each rounded to bfloat16 before they are added in it."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False).bfloat16()

    def forward(self, x):
        halves = zip(x.chunk(2, 1), self.linear.weight.chunk(2, 1), strict=True)
        return sum(one @ other.t() for one, other in halves).float()
