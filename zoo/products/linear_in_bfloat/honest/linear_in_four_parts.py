"""Four products, each rounded to bfloat16, and added in float32."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False).bfloat16()

    def forward(self, x):
        parts = zip(x.chunk(4, -1), self.linear.weight.chunk(4, -1), strict=True)
        return sum((a @ w.t()).float() for a, w in parts).bfloat16()
