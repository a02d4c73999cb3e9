"""One word's product in float32, a part of the terms after the other, rounded once."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out, bias=False).bfloat16()

    def forward(self, x):
        pairs = zip(x.float().split(64, 1), self.linear.weight.float().split(64, 1), strict=True)
        return sum(part @ weight.t() for part, weight in pairs).bfloat16()
