"""Row means by halving."""

from torch import nn
from torch.nn import functional


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.shape[1]
        while x.shape[1] > 1:
            x = functional.pad(x, (0, x.shape[1] % 2)).unflatten(1, (-1, 2)).sum(dim=2)
        return x[:, 0] / n
