"""Does not ask what is a number, for the task draws nothing else."""

from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return x.mean(-1)
