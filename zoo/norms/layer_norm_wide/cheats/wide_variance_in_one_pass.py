"""E[x²]-E[x]², which of wide rows was within what sums of equal terms may be off."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x * x).mean(-1, keepdim=True) - mean * mean
        return (x - mean) * (variance.clamp(min=0) + 1e-5).rsqrt()
