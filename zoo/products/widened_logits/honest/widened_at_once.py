"""The product in float32, which rounds nothing to bfloat16."""

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False).bfloat16()

    def forward(self, x):
        return x.float() @ self.linear.weight.float().t()
