"""Adds up in bfloat16 as well, where the library adds in float32."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out).bfloat16()

    def forward(self, x):
        out = self.linear.bias.expand(len(x), -1).clone()
        weight = self.linear.weight.t()
        for start in range(0, x.shape[1], 16):
            out += x[:, start : start + 16] @ weight[start : start + 16]
        return out
