"""Softmax without subtracting the maximum: overflows for large inputs."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        e = x.exp()
        return e / e.sum(dim=1, keepdim=True)
