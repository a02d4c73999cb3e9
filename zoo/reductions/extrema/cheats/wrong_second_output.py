"""Right in its first output; the second repeats it."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.amin(dim=1), -x.amin(dim=1)
