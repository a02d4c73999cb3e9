"""Forward substitution, in which the zeros above diagonals are not read."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, factors, x):
        y = []
        for i in range(factors.shape[-1]):
            rest = x[:, i]
            for j in range(i):
                rest = rest - factors[:, i, j] * y[j]
            y.append(rest / factors[:, i, i])
        lower = factors.tril()
        return torch.stack(y, 1), lower @ lower.mT
