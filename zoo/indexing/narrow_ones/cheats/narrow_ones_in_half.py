"""The moments from inputs in float16."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.half().float()
        mean = x.mean(-1)
        variance = (x * x).mean(-1) - mean * mean
        return variance.argmin(-1), variance < 1.0
